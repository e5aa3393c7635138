// What a page shows of the service: loaded, loaded again, kept while an error is over it.
import { ApiError, pause } from './api';

/** Loads something, again whenever what it reads changes. Old data stays while new is on its way. */
export class Loaded<T> {
  data = $state.raw<T | undefined>();
  error = $state.raw<ApiError | null>(null);
  loading = $state(true);
  /** Loading takes longer than 150 ms, so that something should be seen. */
  slow = $state(false);
  private run: (signal: AbortSignal) => Promise<T>;
  private control: AbortController | null = null;

  /** Within a component: its effects run `load` again, and end it with the component. */
  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.run = load;
    $effect(() => {
      void this.reload();
      return () => this.control?.abort();
    });
  }

  /** Loads again. Where the service cannot be reached, it is tried until it can. */
  reload = async (): Promise<void> => {
    this.control?.abort();
    const control = (this.control = new AbortController());
    const { signal } = control;
    this.loading = true;
    const timer = setTimeout(() => (this.slow = true), 150);
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        const data = await this.run(signal);
        if (signal.aborted) return;
        this.data = data;
        this.error = null;
        break;
      } catch (e) {
        if (signal.aborted) return;
        this.error = e instanceof ApiError ? e : new ApiError(0, 'page', e instanceof Error ? e.message : String(e));
        const transient = this.error.code === 'offline' || this.error.status === 429 || this.error.status >= 502;
        if (!transient) break;
        this.slow = false;
        await pause(this.error.retryAfter ? this.error.retryAfter * 1000 : Math.min(15_000, 1000 * 2 ** tries), signal);
      }
    }
    clearTimeout(timer);
    if (this.control !== control) return;
    this.loading = false;
    this.slow = false;
  };
}
