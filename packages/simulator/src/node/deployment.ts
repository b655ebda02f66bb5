import type { ServerVersion } from './server-version.js';
import { UserWriteBlock } from './user-write-block.js';

/** Stores the feature compatibility version where a member keeps it. */
type Keeper = (featureCompatibilityVersion: string) => Promise<void>;

/** What all nodes of one deployment, a cluster or a replica set, have in common and a client can change. */
export class Deployment {
  readonly writeBlock: UserWriteBlock;
  /** How long documents as they were before changes are kept beside the oplog's own limit; undefined: no shorter. */
  preImageExpirySeconds: number | undefined;
  /** Whether fail points can be set (`enableTestCommands`); nodes look when they start. */
  testCommands = true;
  readonly #keepers: Keeper[] = [];
  #featureCompatibilityVersion: string;

  constructor(readonly version: ServerVersion) {
    this.writeBlock = new UserWriteBlock(version);
    this.#featureCompatibilityVersion = version.featureCompatibilityVersion;
  }

  /** E.g. `6.0`: of the release, or lowered to that of the release before. */
  get featureCompatibilityVersion(): string {
    return this.#featureCompatibilityVersion;
  }

  async setFeatureCompatibilityVersion(text: string): Promise<void> {
    this.#featureCompatibilityVersion = text;
    for (const keep of this.#keepers) await keep(text);
  }

  /** Adds a member that keeps the feature compatibility version in its own data, now and at every change. */
  async keepFeatureCompatibilityVersion(keep: Keeper): Promise<void> {
    this.#keepers.push(keep);
    await keep(this.#featureCompatibilityVersion);
  }
}
