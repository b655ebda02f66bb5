import type { Inventory } from '@convoy/api/contract/inventory';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { Command } from 'commander';
import { colouredLines } from '../progress-view/colours.js';
import { inventoryLines } from '../progress-view/inventory-lines.js';
import { preflightLines } from '../progress-view/preflight-lines.js';
import { endWith, exitCodeOf } from './exit-code.js';
import { interruption } from './interruption.js';
import { addSettings, type Flags, instanceSettings, settingFlags, sourcesOf } from './settings.js';
import { addStartOptions, startBody, type StartOptions } from './start-options.js';

/** Settings of an instance that the checks use. */
const { cluster0, cluster1, shards, syncUser, sourceAccess, readPreference, memoryBytesMax } = instanceSettings;
const { redis, fleetSecret } = instanceSettings;
const clientSettings = { cluster0, cluster1, shards, syncUser, sourceAccess, readPreference, memoryBytesMax };
const checkedSettings = { ...clientSettings, redis, fleetSecret };

/** Adds `convoy check`: checks whether a migration can start, without a running process. */
export function addCheckCommand(program: Command): void {
  const command = program.command('check').description('check whether a migration can start');
  addStartOptions(addSettings(command, checkedSettings))
    .option('--json', 'print the report as JSON')
    .option('--verbose', 'also list the names that a check counts, and what needs no decision')
    .action(async (options: StartOptions & Flags & { json?: boolean; verbose?: boolean }) => {
      const { parseInstanceConfig } = await import('@convoy/instance/config/instance-config');
      const { preflight } = await import('@convoy/instance/lifecycle/commands/preflight');
      const config = parseInstanceConfig(sourcesOf(settingFlags(options, checkedSettings)));
      const { redisFindings } = await import('./redis-findings.js');
      const ofRedis = redisFindings(config);
      let inventory: Inventory | null = null;
      const request = parseStartRequest(startBody(options));
      const onInventory = (found: Inventory): void => void (inventory = found);
      const { canStart, items } = await preflight(config, request, interruption(), onInventory);
      const report = { canStart, items: [...items, ...ofRedis] };
      const lines = [...inventoryLines(inventory, options), ...preflightLines(report, options)];
      console.log(options.json ? JSON.stringify({ ...report, inventory }) : colouredLines(lines));
      if (!canStart) endWith(exitCodeOf(items.flatMap(({ error }) => error ?? [])));
    });
}
