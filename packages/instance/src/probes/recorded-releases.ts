import { allProbes } from './all-probes.js';
import { isFor, type Topology, type Version } from './framework/probe.js';

/** Release series of which real servers were recorded. */
export const recordedSeries: readonly string[] = ['5.0'];

/**
 * What Convoy relies on and nobody has seen servers of a release do.
 * @returns names of probes; none of a release that was recorded
 */
export function unseenProbes(version: Version, topology: Topology): string[] {
  if (recordedSeries.includes(version.slice(0, 2).join('.'))) return [];
  const isAbout = (probe: { topology?: Topology }): boolean => probe.topology === undefined || probe.topology === topology;
  return allProbes.filter((probe) => isFor(probe, version) && isAbout(probe)).map(({ name }) => name);
}
