import type { Command } from 'commander';
import { addSettings, clusterSettings } from './settings.js';
import type { ProbeFlags } from './probe-cluster.js';
import { endWith } from './exit-code.js';

/** Adds `convoy probe`: tests server behaviour that Convoy relies on, without a running process. */
export function addProbeCommand(program: Command): void {
  const command = program.command('probe').description('test server behaviour that Convoy relies on');
  addSettings(command, clusterSettings)
    .option('--cluster <cluster>', 'connection string, or cluster0 or cluster1 of the settings', 'cluster0')
    .option('--only <name...>', 'only these probes')
    .option('--allow-disturbing', 'also run probes that briefly block all user writes')
    .option('--record <file>', 'write commands and replies to a file in the corpus format')
    .option('--list', 'list the probes without running them')
    .option('--json', 'print the report as JSON')
    .action(async (flags: ProbeFlags) => {
      const { probeCluster } = await import('./probe-cluster.js');
      endWith(await probeCluster(flags));
    });
}
