/** Resources to close, the last one first. A failure to close one does not keep the others open. */
export class Closers implements AsyncDisposable {
  private readonly closers: (() => Promise<unknown>)[] = [];

  /** Registers the resource and returns it. */
  use<Resource extends AsyncDisposable | Disposable>(resource: Resource): Resource {
    this.defer(async () => {
      if (Symbol.asyncDispose in resource) await resource[Symbol.asyncDispose]();
      else resource[Symbol.dispose]();
    });
    return resource;
  }

  /** Registers a function to call on close. */
  defer(close: () => Promise<unknown>): void {
    this.closers.push(close);
  }

  /** @throws AggregateError of all failures to close */
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
