import type { Fixture } from './fixture.js';

/** A release as its servers report it, for example [5, 0, 7]. */
export type Version = readonly [number, number, number];

export type Topology = 'replicaSet' | 'sharded';

/** What a probe needs besides a login. */
export type Need =
  /** Direct connections to the shards; a replica set is its own shard. */
  | 'direct'
  /** A sharded cluster with two shards. */
  | 'twoShards'
  /** Access control, and a login that may create users. */
  | 'users'
  /** Disturbs other users of the cluster: runs only if that is allowed. */
  | 'disturbing';

/** One fact that Convoy relies on, as a sentence that runs. */
export interface Probe {
  /** In kebab-case, unique. */
  readonly name: string;
  readonly sentence: string;
  /** First release for which it is true, and first for which it no longer is; by default, all that Convoy supports. */
  readonly from?: Version;
  readonly below?: Version;
  /** Patch releases before `from` from which on their series has it too. */
  readonly backports?: readonly Version[];
  /** Both if omitted. */
  readonly topology?: Topology;
  readonly needs?: readonly Need[];
  /** Source of the fact. */
  readonly source: string;
  /** What Convoy cannot promise if it does not hold. */
  readonly otherwise: string;
  /** Recorded releases that it is about, and on which it has not run yet. */
  readonly untriedOn?: readonly Version[];
  /**
   * Asks the servers in the scratch database.
   * @throws DoesNotHold, NotTried
   */
  run(fixture: Fixture): Promise<void>;
}

/** How a probe ended. */
export type Outcome =
  | { readonly outcome: 'holds' }
  | { readonly outcome: 'doesNotHold'; readonly expected: string; readonly answered: string }
  | { readonly outcome: 'notTried'; readonly reason: string };

/** A probe with its outcome, as it is printed and written as JSON. */
export type Finding = Pick<Probe, 'name' | 'sentence' | 'otherwise'> & Outcome & { readonly duration_ms: number };

/** The servers behave differently. Both texts are about the scratch database only. */
export class DoesNotHold extends Error {
  override readonly name = 'DoesNotHold';

  constructor(
    readonly expected: string,
    readonly answered: string,
  ) {
    super(`expected ${expected}; answered ${answered}`);
  }
}

/** The sentence could not be tried here. */
export class NotTried extends Error {
  override readonly name = 'NotTried';
}

/** Whether a version is this release or a later one. */
export function isAtLeast(version: Version, release: Version): boolean {
  for (const [index, number] of release.entries()) {
    const own = version[index] ?? 0;
    if (own !== number) return own > number;
  }
  return true;
}

/** Whether a probe's sentence is about servers of this release. */
export function isFor(
  { from, below, backports = [] }: Pick<Probe, 'from' | 'below' | 'backports'>,
  version: Version,
): boolean {
  const isBackport = backports.some(
    ([major, minor, patch]) => version[0] === major && version[1] === minor && version[2] >= patch,
  );
  return (
    (from === undefined || isBackport || isAtLeast(version, from)) &&
    (below === undefined || !isAtLeast(version, below))
  );
}

/** The releases of a sentence in words. */
export function releasesText({ from, below, backports = [] }: Pick<Probe, 'from' | 'below' | 'backports'>): string {
  const text = ([major, minor, patch]: Version): string =>
    patch === 0 ? `${major}.${minor}` : `${major}.${minor}.${patch}`;
  const froms = [...(from === undefined ? [] : [from]), ...backports];
  const parts = [
    ...(from === undefined ? [] : [`from ${froms.map(text).join(', ')} on`]),
    ...(below === undefined ? [] : [`before ${text(below)}`]),
  ];
  return parts.length === 0 ? 'all' : parts.join(', ');
}
