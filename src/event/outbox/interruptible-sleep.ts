/** A sleep that can be ended early; one at a time. It does not keep the process alive. */
export class InterruptibleSleep {
  #wake: (() => void) | undefined;

  /** Resolves after a time in milliseconds, or when it is woken. */
  async for(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  /** Ends the sleep under way, if there is one. */
  wake(): void {
    this.#wake?.();
  }
}
