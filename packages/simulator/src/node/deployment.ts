import { ClusterDefaults } from './cluster-defaults.js';
import type { NodeRelease } from './node-release.js';
import { releaseSeries, ServerVersion } from './server-version.js';
import { UserWriteBlock } from './user-write-block.js';

/** Stores the feature compatibility version in a member's data. */
type Keeper = (featureCompatibilityVersion: string) => Promise<void>;

/** What all nodes of one deployment, a cluster or a replica set, share and a client can change. */
export class Deployment {
  readonly writeBlock: UserWriteBlock;
  readonly definitionLocks = new DefinitionLocks();
  readonly defaults = new ClusterDefaults();
  /** The release of each node. */
  readonly releases: NodeRelease[] = [];
  readonly #keepers: Keeper[] = [];
  #featureCompatibilityVersion: string;
  #features: ServerVersion;

  /** @param version the initial release of every node */
  constructor(readonly version: ServerVersion) {
    this.writeBlock = new UserWriteBlock(() => this.features);
    this.#featureCompatibilityVersion = version.featureCompatibilityVersion;
    this.#features = version;
  }

  /** E.g. `6.0`: of the release, or lowered to that of the previous release. */
  get featureCompatibilityVersion(): string {
    return this.#featureCompatibilityVersion;
  }

  /**
   * The release of the feature compatibility version. A version before the oldest simulated release counts as that
   * release.
   */
  get features(): ServerVersion {
    return this.#features;
  }

  async setFeatureCompatibilityVersion(text: string): Promise<void> {
    this.#featureCompatibilityVersion = text;
    this.#features = ServerVersion.parse(releaseSeries.find((series) => series === text) ?? releaseSeries[0] ?? '');
    for (const keep of this.#keepers) await keep(text);
  }

  /** Adds a member that stores the feature compatibility version in its own data, now and at every change. */
  async keepFeatureCompatibilityVersion(keep: Keeper): Promise<void> {
    this.#keepers.push(keep);
    await keep(this.#featureCompatibilityVersion);
  }
}

/** DDL changes of one database run one after the other, as under the lock of its name that coordinators take. */
class DefinitionLocks {
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
