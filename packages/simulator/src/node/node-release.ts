import type { Deployment } from './deployment.js';
import { type ReleaseSeries, ServerVersion } from './server-version.js';

/** The release of one node of a deployment. Nodes are upgraded one after the other, while the deployment runs. */
export class NodeRelease {
  #binary: ServerVersion;

  constructor(private readonly deployment: Deployment) {
    this.#binary = deployment.version;
    deployment.releases.push(this);
  }

  /** The release of its program. */
  get binary(): ServerVersion {
    return this.#binary;
  }

  /**
   * The release whose features it has: that of its program, or an earlier one while the feature compatibility version
   * is lower.
   */
  get features(): ServerVersion {
    const { features } = this.deployment;
    return features.isBefore(this.#binary) ? features : this.#binary;
  }

  /**
   * Installs another program, with which the node starts next.
   * @throws RangeError for a release whose program does not start with the data's feature compatibility version
   */
  install(series: ReleaseSeries): void {
    const binary = ServerVersion.parse(series);
    const { featureCompatibilityVersion } = this.deployment;
    const readable = [binary.series, binary.previousSeries];
    if (!readable.includes(featureCompatibilityVersion)) {
      throw new RangeError(
        `${series} does not start on data of feature compatibility version ${featureCompatibilityVersion}, ` +
          `only of ${readable.join(' or ')}`,
      );
    }
    this.#binary = binary;
  }
}
