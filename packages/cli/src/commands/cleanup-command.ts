import { createInterface } from 'node:readline/promises';
import { Argument, type Command } from 'commander';
import type { InstanceConfig } from '@convoy/instance/config/instance-schema';
import type { CleanupPlan } from '@convoy/instance/lifecycle/instance/clean-up';
import { endWith, exitCodes } from './exit-code.js';
import { interruption } from './interruption.js';
import type { JsonOption } from './json-output.js';
import { addSettings, clusterSettings, type Flags, settingFlags, sourcesOf } from './settings.js';

type CleanupFlags = Flags & JsonOption & { destination: string; yes?: boolean };

/** Adds `convoy cleanup` and `convoy unblock`, which need no running process. */
export function addCleanupCommands(program: Command): void {
  const cleanup = program.command('cleanup').description('remove the state of a finished migration');
  addSettings(cleanup, clusterSettings)
    .option('--destination <cluster>', 'destination of the migration', 'cluster1')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print plan and result as JSON; it changes something only with --yes')
    .action(async ({ destination, yes = false, json = false, ...flags }: CleanupFlags) => {
      const signal = interruption();
      const { cleanUp } = await import('@convoy/instance/lifecycle/instance/clean-up');
      const { requireClusterName } = await import('@convoy/instance/lifecycle/migration/clusters');
      let planned: CleanupPlan = { found: null, steps: [], remarks: [] };
      const agree = (plan: CleanupPlan) => {
        planned = plan;
        return json ? Promise.resolve(yes || plan.steps.length === 0) : agreeTo(plan, yes, signal);
      };
      const isDone = await cleanUp(await configOf(flags), requireClusterName(destination), agree, signal);
      if (json) console.log(JSON.stringify({ ...planned, isDone }));
      else if (isDone && planned.steps.length > 0)
        console.log('Done. Restart running instances before another migration.');
      endWith(isDone ? exitCodes.done : exitCodes.failed);
    });
  addSettings(program.command('unblock').description('allow user writes on a cluster again'), clusterSettings)
    .addArgument(new Argument('<cluster>', 'which cluster').choices(['cluster0', 'cluster1']))
    .option('--json', 'print the result as JSON')
    .action(async (name: string, flags: Flags & JsonOption) => {
      const { unblock } = await import('@convoy/instance/lifecycle/instance/unblock');
      const { requireClusterName } = await import('@convoy/instance/lifecycle/migration/clusters');
      await unblock(await configOf(flags), requireClusterName(name), interruption());
      console.log(flags.json ? JSON.stringify({ success: true }) : `${name} accepts user writes again.`);
    });
}

async function configOf(flags: Flags): Promise<InstanceConfig> {
  const { parseInstanceConfig } = await import('@convoy/instance/config/instance-config');
  return parseInstanceConfig(sourcesOf(settingFlags(flags, clusterSettings)));
}

/** Shows the plan, and asks for confirmation unless `yes` is set. */
async function agreeTo(plan: CleanupPlan, yes: boolean, signal: AbortSignal): Promise<boolean> {
  console.log(cleanupLines(plan).join('\n'));
  if (yes || plan.steps.length === 0) return true;
  if (!process.stdin.isTTY) {
    console.error('Nothing was done: there is no terminal for the confirmation. Run it with --yes.');
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question('Continue? [y/N] ', { signal })).trim());
  } finally {
    terminal.close();
  }
}

/** A cleanup's plan as text. */
export function cleanupLines({ found, steps, remarks }: CleanupPlan): string[] {
  if (found === null) return ['There is nothing to clean up.', ...remarks];
  return [
    found,
    '',
    'A cleanup will:',
    ...steps.map(({ description }, index) => `  ${index + 1}. ${description}`),
    ...(remarks.length > 0 ? ['', ...remarks] : []),
    '',
  ];
}
