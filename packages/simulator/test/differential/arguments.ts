/** What `npm run differential` is asked. */
export interface DifferentialOptions {
  readonly seed: number;
  /** Commands of each family. */
  readonly steps: number;
  /** Shorter cases that are tried for each difference; few are quick and leave cases long. */
  readonly tries: number;
  /** Families by name; none: all. */
  readonly families: readonly string[];
  /** File that shrunk differences are written to. */
  readonly record: string | undefined;
}

const stepsDefault = 1000;
const triesDefault = 120;

export const usage =
  'Usage: npm run differential -- [--seed N] [--steps M] [--family NAME …] [--tries K] [--record FILE]';

/** Reads the command line. @throws RangeError with a sentence when it is not understood */
export function readArguments(args: readonly string[]): DifferentialOptions {
  const given = {
    seed: Date.now() % 1_000_000,
    steps: stepsDefault,
    tries: triesDefault,
    families: [] as string[],
    record: undefined as string | undefined,
  };
  for (let at = 0; at < args.length; at += 2) {
    const [name = '', value] = args.slice(at, at + 2);
    if (value === undefined) throw new RangeError(`${name} needs a value. ${usage}`);
    if (name === '--seed') given.seed = count(name, value);
    else if (name === '--steps') given.steps = count(name, value);
    else if (name === '--tries') given.tries = count(name, value);
    else if (name === '--family') given.families.push(value);
    else if (name === '--record') given.record = value;
    else throw new RangeError(`${name} is no option. ${usage}`);
  }
  return given;
}

function count(name: string, value: string): number {
  if (!/^\d+$/.test(value)) throw new RangeError(`${name} needs a whole number, not ${value}. ${usage}`);
  return Number(value);
}
