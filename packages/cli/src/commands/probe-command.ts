import type { Command } from 'commander';
import { addSettings, instanceSettings } from './settings.js';
import type { ProbeFlags } from './probe-cluster.js';

const { cluster0, cluster1, shards } = instanceSettings;

/** Adds `convoy probe`: tries on servers what Convoy relies on, without any process that runs. */
export function addProbeCommand(program: Command): void {
  const command = program.command('probe').description('try on servers what Convoy relies on');
  addSettings(command, { cluster0, cluster1, shards })
    .option(
      '--cluster <cluster>',
      'connection string of the cluster, or cluster0 or cluster1 of the settings',
      'cluster0',
    )
    .option('--only <name...>', 'only these probes')
    .option('--allow-disturbing', 'also probes that others notice: the writes of all users are blocked for moments')
    .option('--record <file>', 'write commands and replies to a file, in the form of the corpus')
    .option('--list', 'list the probes and try none')
    .option('--json', 'print the report as JSON')
    .action(async (flags: ProbeFlags) => {
      const { probeCluster } = await import('./probe-cluster.js');
      process.exitCode = await probeCluster(flags);
    });
}
