// Lists that come by pages.
import { get, type ApiError } from './api';
import { Loaded } from './load.svelte';

interface Slice<T> {
  rows: T[];
  next: string | null;
}

/** What is asked for: null for nothing. `name` is where the answer has its rows, `cursor` what names the next page. */
export interface Asked {
  path: string;
  name: string;
  query?: Record<string, string | number | null>;
  cursor?: 'before' | 'after';
}

/** A list by pages: the first is loaded anew when something changes, and further ones stand behind it. */
export class Paged<T> {
  private first: Loaded<Slice<T> | null>;
  private further = $state.raw<Slice<T> | null>(null);
  private asked: () => Asked | null;
  /** Each row once: while new ones come, pages overlap. */
  rows: T[] = $derived.by(() => {
    const seen = new Set<string | number>();
    return [...(this.first.data?.rows ?? []), ...(this.further?.rows ?? [])].filter((r) => !seen.has(this.id(r)) && seen.add(this.id(r)));
  });
  next: string | null = $derived.by(() => (this.further ?? this.first.data)?.next ?? null);
  busy = $state(false);
  moreError = $state.raw<ApiError | null>(null);
  private id: (row: T) => string | number;
  private begun = 0; // how often it began anew

  /** Within a component: what `asked` reads begins the list anew when it changes. */
  constructor(id: (row: T) => string | number, asked: () => Asked | null) {
    this.id = id;
    this.asked = asked;
    this.first = new Loaded((signal) => this.load(asked(), null, signal));
    $effect(() => {
      asked();
      this.begun++;
      this.further = this.moreError = null;
    });
  }
  private async load(a: Asked | null, from: string | null, signal?: AbortSignal): Promise<Slice<T> | null> {
    if (a === null) return null;
    const got = await get<Record<string, unknown>>(a.path, { limit: 50, ...a.query, [a.cursor ?? 'before']: from }, signal);
    return { rows: got[a.name] as T[], next: got.next as string | null };
  }
  get loaded(): boolean {
    return this.first.data !== undefined && this.first.data !== null;
  }
  get error(): ApiError | null {
    return this.first.error;
  }
  get slow(): boolean {
    return this.first.slow;
  }
  /** Loads the first page again. */
  reload = (): Promise<void> => this.first.reload();
  /** Begins the list anew: any row may have changed. */
  renew = async (): Promise<void> => {
    await this.first.reload();
    this.begun++;
    this.further = null;
  };
  more = async (): Promise<void> => {
    if (this.busy || this.next === null) return;
    this.busy = true;
    this.moreError = null;
    const { begun, further: before } = this;
    try {
      const got = await this.load(this.asked(), this.next);
      // What was asked for meanwhile has begun anew.
      if (got && this.begun === begun) this.further = { rows: [...(before?.rows ?? []), ...got.rows], next: got.next };
    } catch (e) {
      this.moreError = e as ApiError;
    }
    this.busy = false;
  };
}
