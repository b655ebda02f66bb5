import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ContractClient } from '@convoy/api/client/contract-client';
import { startCoordinator } from '@convoy/cli/commands/coordinator-service';
import { startInstance } from '@convoy/cli/commands/instance-service';
import type { ServiceProcess } from '@convoy/cli/commands/service-process';
import { instanceSettings, type InstanceProcessOptions } from '@convoy/cli/environment/fleet/instance-process';
import type { Fleet, FleetCoordinator, FleetMembership, FleetOptions } from '@convoy/cli/environment/fleet/start-fleet';
import { Closers } from '@convoy/testbed/closers';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { findRedis } from '@convoy/testbed/redis/find-redis';

/** Time limit of connecting to both clusters. */
const readyWithin_ms = 60_000;

/** An instance that nobody kills. */
export interface InstanceHere extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  readonly client: ContractClient;
}

/** A fleet whose coordinator and instances nobody kills. A fleet of processes fits, too. */
export interface FleetHere extends Pick<Fleet, 'redis' | 'name' | 'coordinator' | keyof AsyncDisposable> {
  readonly instances: readonly InstanceHere[];
}

/**
 * A fleet in the process of the test, with the configuration files of processes. A process of its own takes more than a
 * second of CPU to load its modules, and then runs cold code (docs/decisions/0204).
 */
export async function startFleetHere({ source, destination, folder, settings }: FleetOptions): Promise<FleetHere> {
  const closers = new Closers();
  try {
    const redis = closers.use(await findRedis(folder));
    const membership = { redis: redis.url, fleet: `fleet-${randomBytes(6).toString('hex')}` };
    const coordinator = closers.use(await startCoordinatorHere(membership, folder));
    const starting = source.shardIds.map(async (id) =>
      closers.use(
        await startInstanceHere({ id, source, destination, membership, folder, ...(settings && { settings }) }),
      ),
    );
    await Promise.allSettled(starting);
    const instances = await Promise.all(starting);
    const close = (): Promise<void> => closers[Symbol.asyncDispose]();
    return { redis, name: membership.fleet, coordinator, instances, [Symbol.asyncDispose]: close };
  } catch (error) {
    await closers[Symbol.asyncDispose]();
    throw error;
  }
}

/** A coordinator in the process of the test, for fleets whose coordinator nobody kills. */
export async function startCoordinatorHere(
  membership: FleetMembership,
  folder: ScratchFolder,
): Promise<FleetCoordinator> {
  const config = configFile(folder, 'coordinator', { ...membership });
  let running = await startCoordinator({ config, port: '0' });
  const { url } = running;
  return {
    url,
    client: new ContractClient(url),
    stop: () => running.close(),
    startAgain: async () => {
      running = await startCoordinator({ config, port: new URL(url).port });
    },
    [Symbol.asyncDispose]: () => running.close(),
  };
}

/** An instance in the process of the test. */
export async function startInstanceHere(options: InstanceProcessOptions): Promise<InstanceHere> {
  const name = options.id ?? 'single';
  const config = configFile(options.folder, `instance-${name}`, instanceSettings(options));
  const service: ServiceProcess = await startInstance({ config, port: '0' });
  const { url } = service;
  const close = (): Promise<void> => service.close();
  try {
    await pollUntil(`${name} is ready`, readyWithin_ms, async () => (await fetch(`${url}/readyz`)).ok);
  } catch (error) {
    await close();
    throw error;
  }
  return { name, url, client: new ContractClient(url), [Symbol.asyncDispose]: close };
}

/** Writes a configuration; its log goes into a folder of the same name beside it. */
function configFile(folder: ScratchFolder, name: string, settings: Readonly<Record<string, unknown>>): string {
  const path = folder.file(`${name}.json`);
  writeFileSync(path, JSON.stringify({ ...settings, logPath: `${dirname(path)}/${name}` }, null, 2));
  return path;
}
