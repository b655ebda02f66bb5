/** Things to close, the last one first. What cannot be closed does not keep the others open. */
export class Closers implements AsyncDisposable {
  private readonly closers: (() => Promise<unknown>)[] = [];

  /** Closes the resource with the rest, and gives it back. */
  use<Resource extends AsyncDisposable | Disposable>(resource: Resource): Resource {
    this.defer(async () => {
      if (Symbol.asyncDispose in resource) await resource[Symbol.asyncDispose]();
      else resource[Symbol.dispose]();
    });
    return resource;
  }

  /** Calls the function with the rest. */
  defer(close: () => Promise<unknown>): void {
    this.closers.push(close);
  }

  /** @throws AggregateError of everything that failed to close */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.closers.pop(); close !== undefined; close = this.closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} resources could not be closed`);
  }
}
