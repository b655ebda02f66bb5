import type { NodeRelease } from './node-release.js';
import { releaseSeries, ServerVersion } from './server-version.js';
import { UserWriteBlock } from './user-write-block.js';

/** Stores the feature compatibility version where a member keeps it. */
type Keeper = (featureCompatibilityVersion: string) => Promise<void>;

/** What all nodes of one deployment, a cluster or a replica set, have in common and a client can change. */
export class Deployment {
  readonly writeBlock: UserWriteBlock;
  /** What each node runs. */
  readonly releases: NodeRelease[] = [];
  /** How long documents as they were before changes are kept beside the oplog's own limit; undefined: no shorter. */
  preImageExpirySeconds: number | undefined;
  /** Whether fail points can be set (`enableTestCommands`); nodes look when they start. */
  testCommands = true;
  readonly #keepers: Keeper[] = [];
  #featureCompatibilityVersion: string;
  #features: ServerVersion;

  /** @param version the release of every node at first */
  constructor(readonly version: ServerVersion) {
    this.writeBlock = new UserWriteBlock(() => this.features);
    this.#featureCompatibilityVersion = version.featureCompatibilityVersion;
    this.#features = version;
  }

  /** E.g. `6.0`: of the release, or lowered to that of the release before. */
  get featureCompatibilityVersion(): string {
    return this.#featureCompatibilityVersion;
  }

  /** The release that the feature compatibility version stands for; one before the oldest simulated release counts as that. */
  get features(): ServerVersion {
    return this.#features;
  }

  async setFeatureCompatibilityVersion(text: string): Promise<void> {
    this.#featureCompatibilityVersion = text;
    this.#features = ServerVersion.parse(releaseSeries.find((series) => series === text) ?? releaseSeries[0] ?? '');
    for (const keep of this.#keepers) await keep(text);
  }

  /** Adds a member that keeps the feature compatibility version in its own data, now and at every change. */
  async keepFeatureCompatibilityVersion(keep: Keeper): Promise<void> {
    this.#keepers.push(keep);
    await keep(this.#featureCompatibilityVersion);
  }
}
