import type { ServerVersion } from './server-version.js';
import { UserWriteBlock } from './user-write-block.js';

/** What all nodes of one deployment, a cluster or a replica set, have in common and a client can change. */
export class Deployment {
  /** Feature compatibility version, e.g. `6.0`: of the release, or lowered to that of the release before. */
  featureCompatibilityVersion: string;
  readonly writeBlock = new UserWriteBlock();

  constructor(readonly version: ServerVersion) {
    this.featureCompatibilityVersion = version.featureCompatibilityVersion;
  }
}
