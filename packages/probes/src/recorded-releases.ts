import { allProbes } from './all-probes.js';
import { isFor, type Topology, type Version } from './framework/probe.js';

/** Releases of which real servers were recorded and probed. */
export const recordedVersions: readonly Version[] = [
  [5, 0, 7],
  [8, 0, 10],
];

/** Their series. */
export const recordedSeries: readonly string[] = recordedVersions.map(([major, minor]) => `${major}.${minor}`);

/** Whether real servers of a release were recorded. */
export function isRecorded([major, minor]: Version): boolean {
  return recordedSeries.includes(`${major}.${minor}`);
}

/**
 * The facts that Convoy relies on and that were never seen on servers of a release.
 * @returns names of probes; none for a recorded release
 */
export function unseenProbes(version: Version, topology: Topology): string[] {
  if (isRecorded(version)) return [];
  const isAbout = (probe: { topology?: Topology }): boolean =>
    probe.topology === undefined || probe.topology === topology;
  return allProbes.filter((probe) => isFor(probe, version) && isAbout(probe)).map(({ name }) => name);
}
