// What somebody does on a page: what is under way, and why the last of it failed.
import { type ApiError, wrong } from './api';

export class Acts {
  /** The name of what is under way, "" for nothing. */
  busy = $state('');
  problem = $state.raw<ApiError | null>(null);

  run = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    this.busy = what;
    this.problem = null;
    try {
      await act();
    } catch (e) {
      this.problem = e as ApiError;
    }
    this.busy = '';
  };
  /** What is wrong with a field, "" for nothing. */
  wrong = (field: string): string => wrong(this.problem, field);
}
