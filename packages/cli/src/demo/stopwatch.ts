/** Seconds of named sections of work. */
export class Stopwatch {
  readonly seconds = new Map<string, number>();

  /** Runs the work and adds its duration to the section of that name. */
  async time<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const begin = performance.now();
    try {
      return await work();
    } finally {
      this.seconds.set(name, this.of(name) + (performance.now() - begin) / 1000);
    }
  }

  /** Seconds of one section, 0 when it has not run. */
  of(name: string): number {
    return this.seconds.get(name) ?? 0;
  }
}
