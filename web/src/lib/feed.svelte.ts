// The account's feed: which jobs are new or stand otherwise. A page follows it as long as it is open.
import { events } from './api';
import type { Job } from './jobs';

export interface Feed {
  /** Whether changes arrive at the moment. */
  readonly live: boolean;
}

/** Within a component: tells of changed jobs, and of moments when a list must be read anew (null). */
export function follow(onchange: (job: Job | null) => void): Feed {
  let live = $state(false);
  $effect(() => {
    const control = new AbortController();
    events('/v1/jobs/events', {
      signal: control.signal,
      onState: (on) => (live = on),
      onEvent: (e) => onchange(e.event === 'job' ? (JSON.parse(e.data) as Job) : null),
    }).catch(() => (live = false));
    return () => control.abort();
  });
  return {
    get live() {
      return live;
    },
  };
}

/** Calls that come close together become one, after a moment. */
export function gathered(run: () => void, ms = 150): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  $effect(() => () => clearTimeout(timer));
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      run();
    }, ms);
  };
}
