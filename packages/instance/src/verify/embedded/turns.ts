/** Returns some of many items at a time, so that each gets its turn before any gets another. */
export class Turns<Thing> {
  readonly #had = new Set<string>();

  constructor(private readonly nameOf: (thing: Thing) => string) {}

  /**
   * Some of those that have not had their turn, at least one if there is any.
   * @param weightMax maximum total weight
   */
  next(things: readonly Thing[], weightMax: number, weightOf: (thing: Thing) => number = () => 1): Thing[] {
    let waiting = things.filter((thing) => !this.#had.has(this.nameOf(thing)));
    if (waiting.length === 0) {
      this.#had.clear();
      waiting = [...things];
    }
    const chosen: Thing[] = [];
    let weight = 0;
    for (const thing of waiting) {
      weight += weightOf(thing);
      if (chosen.length > 0 && weight > weightMax) break;
      chosen.push(thing);
      this.#had.add(this.nameOf(thing));
    }
    return chosen;
  }
}
