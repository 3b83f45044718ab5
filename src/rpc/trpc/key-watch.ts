import { clearInterval, setInterval } from '../../base/runtime.ts';
import { errorOf } from '../../../contract/index.ts';
import { AppError } from '../../base/errors.ts';

/** How often keys are checked: with the time for which a key is remembered, less than a second. */
const CHECK_MS = 400;
const UNAUTHORIZED = 401;

type Refused = (error: AppError) => void;

/** Tells what is open with a key when the key is no longer valid. Each key is checked once for all of that. */
export class KeyWatch {
  readonly #check: (key: string) => Promise<void>;
  readonly #watched = new Map<string, Set<Refused>>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  /** `check` rejects for a key that is not valid. */
  constructor(check: (key: string) => Promise<void>) {
    this.#check = check;
  }

  /** Calls `refused` once when a key is no longer valid. Returns a function that ends that. */
  add(key: string, refused: Refused): () => void {
    const watched = this.#watched.get(key) ?? new Set();
    this.#watched.set(key, watched.add(refused));
    this.#timer ??= setInterval(() => void this.#checkAll(), CHECK_MS).unref();
    return () => {
      watched.delete(refused);
      if (watched.size === 0 && this.#watched.get(key) === watched) this.#forget(key);
    };
  }

  #forget(key: string): void {
    this.#watched.delete(key);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Never rejects. */
  async #checkAll(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    await Promise.all(Array.from(this.#watched.keys(), (key) => this.#checkOne(key)));
    this.#isChecking = false;
  }

  async #checkOne(key: string): Promise<void> {
    try {
      await this.#check(key);
    } catch (error) {
      // Where keys cannot be read now, nothing is known of this one.
      if (!(error instanceof AppError) || errorOf(error.reason).status !== UNAUTHORIZED) return;
      const watched = this.#watched.get(key) ?? [];
      this.#forget(key);
      for (const refused of watched) refused(error);
    }
  }
}
