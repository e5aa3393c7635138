import { beforeEach, describe, expect, it } from 'vitest';
import { callOf, emptySet, freeName, keepRequests, mostSets, none, readRequests, setOf } from './requests';

const kept = new Map<string, string>();
beforeEach(() => {
  kept.clear();
  globalThis.localStorage = { getItem: (k: string) => kept.get(k) ?? null, setItem: (k: string, v: string) => void kept.set(k, v) } as unknown as Storage;
});

describe('sets of requests', () => {
  it('are kept by file', () => {
    const r = { sets: [emptySet('a'), { ...emptySet('b'), get: '{"n": 1}' }], chosen: 1 };
    keepRequests('/x.ql', r);
    expect(readRequests('/x.ql')).toEqual(r);
    expect(readRequests('/y.ql')).toEqual(none());
  });
  it('begin with the one request that was kept before', () => {
    kept.set('ql.request /x.ql', '{"get":"1","body":"2","input":"3"}');
    expect(readRequests('/x.ql')).toEqual({ sets: [{ name: 'Request', get: '1', body: '2', input: '3' }], chosen: 0 });
  });
  it('survive what is no set', () => {
    for (const text of ['', '{', '[]', 'null', '{"sets":[]}', '{"sets":7,"chosen":-3}']) {
      kept.set('ql.request /x.ql', text);
      const r = readRequests('/x.ql');
      expect(r.sets.length).toBe(1);
      expect(r.chosen).toBe(0);
    }
    kept.set('ql.request /x.ql', JSON.stringify({ sets: Array.from({ length: 99 }, (_, i) => emptySet('s' + i)), chosen: 98 }));
    expect(readRequests('/x.ql').sets.length).toBe(mostSets);
    expect(readRequests('/x.ql').chosen).toBe(mostSets - 1);
  });
  it('have names of their own', () => {
    expect(freeName([emptySet('Request'), emptySet('Request 2')])).toBe('Request 3');
    expect(freeName([])).toBe('Request');
  });
  it('are fields of a call, and come back from a job', () => {
    expect(callOf({ get: '{"a":"b"}', body: '', input: '{"n":1}' })).toEqual({ request: { get: { a: 'b' } }, input: { n: 1 } });
    expect(() => callOf({ get: '{', body: '', input: '' })).toThrow('What !GET finds is no JSON');
    expect(callOf(setOf('Job 3', { get: { a: 'b' }, body: [1] }, { n: 1 }))).toEqual({ request: { get: { a: 'b' }, body: [1] }, input: { n: 1 } });
    expect(callOf(setOf('Job 4', null, null))).toEqual({});
  });
});
