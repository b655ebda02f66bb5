/** DDL changes of one database run one after the other, as under the lock of its name that coordinators take. */
export class DefinitionLocks {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs a change once all earlier ones of its database have ended, however they ended. */
  async run<T>(database: string, change: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(database) ?? Promise.resolve()).then(change);
    const ended = turn.catch(() => undefined);
    this.#last.set(database, ended);
    try {
      return await turn;
    } finally {
      if (this.#last.get(database) === ended) this.#last.delete(database);
    }
  }
}
