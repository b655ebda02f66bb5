import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';

/**
 * One metric of an instance as Prometheus would read it.
 * @param series name with its labels, for example `convoy_partitions{state="copying"}`
 * @returns undefined while the instance does not export it
 */
export async function readMetric(instance: InstanceProcess, series: string): Promise<number | undefined> {
  const text = await (await fetch(`${instance.url}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}
