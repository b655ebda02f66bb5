/** An instance reports to its peers this often. */
const report_ms = 250;
/** All instances of a fleet together report at most 250 times a second: a coordinator reads every report. */
const reportPerInstance_ms = 4;
/** Up to this size every instance names all others and all shards in its report. */
const allNameMax = 16;
/** In larger fleets only the leader and this many others do. A list in each report grows with the fleet's square. */
const naming = 3;

/** Interval of an instance's reports, by the number of instances in its fleet. */
export function reportInterval_ms(instances: number): number {
  return Math.max(report_ms, reportPerInstance_ms * instances);
}

/**
 * Whether the report of an instance names all instances and shards.
 * @param ids of the fleet, in the same order everywhere
 */
export function namesFleet(id: string, ids: readonly string[], leads: boolean): boolean {
  return leads || ids.length <= allNameMax || ids.indexOf(id) < naming;
}
