import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { expect, it } from 'vitest';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { createLogger } from '../../../src/logging/logger.js';
import { runInstance } from '../../../src/process/instance-process.js';

it('an instance whose port is taken releases its identity', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const fleet = new LoneFleet();
  const config = parseInstanceConfig({
    flags: { cluster0: 'mongodb://127.0.0.1:1', cluster1: 'mongodb://127.0.0.1:2', port },
  });
  try {
    await expect(runInstance(config, { fleet, logger: createLogger({ verbosity: 'FATAL' }) })).rejects.toMatchObject({
      error: 'addressTaken',
    });
    expect(fleet.leader()).toBeNull();
  } finally {
    holder.close();
  }
});
