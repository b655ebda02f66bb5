/** A release series that can be simulated. */
export type ReleaseSeries = '4.4' | '5.0' | '6.0' | '7.0' | '8.0';

/** Properties of one series. */
interface Release {
  /** The full patch release that stands for the series. */
  readonly text: string;
  /** Highest wire version of `hello` (wire protocol versions of the driver specifications). */
  readonly wireVersionMax: number;
}

const releases: Readonly<Record<ReleaseSeries, Release>> = {
  '4.4': { text: '4.4.29', wireVersionMax: 9 },
  '5.0': { text: '5.0.7', wireVersionMax: 13 },
  '6.0': { text: '6.0.14', wireVersionMax: 17 },
  '7.0': { text: '7.0.16', wireVersionMax: 21 },
  '8.0': { text: '8.0.10', wireVersionMax: 25 },
};

/** The release before the oldest simulated one. */
const seriesBefore = '4.2';

const bytesPerMegabyte = 1024 * 1024;

/** Every series that can be simulated, oldest first. */
export const releaseSeries = Object.keys(releases) as readonly ReleaseSeries[];

/** The server release to simulate. One value per series, so that versions compare by identity too. */
export class ServerVersion {
  private static readonly known = new Map<string, ServerVersion>();

  /** Full release, e.g. `5.0.7`. */
  readonly text: string;
  readonly wireVersionMax: number;
  readonly #major: number;
  readonly #minor: number;

  private constructor(readonly series: ReleaseSeries) {
    const { text, wireVersionMax } = releases[series];
    this.text = text;
    this.wireVersionMax = wireVersionMax;
    const [major, minor] = series.split('.').map(Number);
    this.#major = major ?? 0;
    this.#minor = minor ?? 0;
  }

  /**
   * @param text a series such as `6.0`
   * @throws RangeError for a series that is not simulated
   */
  static parse(text: string): ServerVersion {
    const series = releaseSeries.find((candidate) => candidate === text);
    if (series === undefined)
      throw new RangeError(`version ${text} is not simulated: choose one of ${releaseSeries.join(', ')}`);
    const version = ServerVersion.known.get(series) ?? new ServerVersion(series);
    ServerVersion.known.set(series, version);
    return version;
  }

  /** True for the named release series and all later ones. */
  atLeast(major: number, minor = 0): boolean {
    return this.#major > major || (this.#major === major && this.#minor >= minor);
  }

  isBefore(other: ServerVersion): boolean {
    return !this.atLeast(other.#major, other.#minor);
  }

  /** The previous release, whose data it can open. */
  get previousSeries(): string {
    return releaseSeries[releaseSeries.indexOf(this.series) - 1] ?? seriesBefore;
  }

  /**
   * Default size of a chunk in bytes: 64 MB, and 128 MB since 6.0 (manual: "Modify Range Size in a Sharded Cluster").
   */
  get chunkBytesMax(): number {
    return (this.atLeast(6, 0) ? 128 : 64) * bytesPerMegabyte;
  }

  /** Feature compatibility version of a new deployment of this release, e.g. `5.0`. */
  get featureCompatibilityVersion(): string {
    return this.series;
  }
}

/** The default release: the one that Convoy is developed against. */
export const defaultVersion = ServerVersion.parse('8.0');
