import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ContractClient } from '@convoy/api/client/contract-client';
import { startCoordinator } from '@convoy/cli/commands/coordinator-service';
import { startInstance } from '@convoy/cli/commands/instance-service';
import { withoutRedisVariable } from '@convoy/cli/environment/fleet/convoy-program';
import {
  instanceConfiguration,
  type InstanceProcessOptions,
  untilReady,
} from '@convoy/cli/environment/fleet/instance-process';
import type {
  FleetCoordinator,
  FleetInstance,
  FleetMembership,
  FleetStarters,
} from '@convoy/cli/environment/fleet/start-fleet';
import { freePort } from '@convoy/testbed/process/free-port';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

/** Without the tests' own Redis, as processes are started. */
const environment = (): NodeJS.ProcessEnv => ({ ...process.env, ...withoutRedisVariable });

/**
 * A coordinator in the process of the test, for fleets whose coordinator nobody kills.
 * @param settings more settings for its configuration
 * @param name distinguishes its files from those of other coordinators
 */
export async function startCoordinatorHere(
  membership: FleetMembership,
  folder: ScratchFolder,
  settings: Readonly<Record<string, unknown>> = {},
  name = 'coordinator',
): Promise<FleetCoordinator> {
  const config = configFile(folder, name, { ...membership, ...settings });
  // It starts again on this port: one that the system gives would be given to others meanwhile.
  let running = await startCoordinator({ config, port: String(await freePort()) }, environment());
  const { url } = running;
  return {
    url,
    client: new ContractClient(url),
    stop: () => running.close(),
    startAgain: async () => {
      running = await startCoordinator({ config, port: new URL(url).port }, environment());
    },
    [Symbol.asyncDispose]: () => running.close(),
  };
}

/** An instance in the process of the test. */
export async function startInstanceHere(options: InstanceProcessOptions): Promise<FleetInstance> {
  const name = options.id ?? 'single';
  const config = configFile(options.folder, `instance-${options.files ?? name}`, instanceConfiguration(options));
  const service = await startInstance({ config, port: '0' }, environment());
  const { url } = service;
  const close = (): Promise<void> => service.close();
  try {
    await untilReady({ name, url });
  } catch (error) {
    await close();
    throw error;
  }
  return { name, url, client: new ContractClient(url), [Symbol.asyncDispose]: close };
}

/**
 * Members in the process of the test, with the configuration files of processes. A process of its own takes more than a
 * second of CPU to load its modules, and then runs cold code (docs/decisions/0203).
 */
export const inThisProcess: FleetStarters<FleetInstance> = {
  startCoordinator: startCoordinatorHere,
  startInstance: startInstanceHere,
};

/** Writes a configuration; its log goes into a folder of the same name beside it. */
function configFile(folder: ScratchFolder, name: string, settings: Readonly<Record<string, unknown>>): string {
  const path = folder.file(`${name}.json`);
  writeFileSync(path, JSON.stringify({ ...settings, logPath: `${dirname(path)}/${name}` }, null, 2));
  return path;
}
