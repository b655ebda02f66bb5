import { flagName, secretSettings } from '@convoy/api/configuration/setting-names';
import { FILE_FLAG_SUFFIX } from '@convoy/api/configuration/setting-sources';
import type { Command } from 'commander';

/** Flags that take a connection string or the name of a cluster in the settings. */
const clusterFlags = ['cluster', 'source', 'destination'];
/** Flags that take an address, a secret only with a password. The other secret settings are secrets as a whole. */
const addressFlags = ['cluster0', 'cluster1', 'redis', ...clusterFlags];
const withPassword = /^[a-z+]+:\/\/[^/@]*:[^@]*@/i;

/** A flag with a secret as its value. */
export interface SecretFlag {
  readonly value: string;
  /** For the user: what happened, and what to do. */
  readonly warning: string;
}

/** The flags of a command that show a secret to everybody who can list processes. */
export function secretFlags(command: Command): SecretFlag[] {
  return [...secretSettings, ...clusterFlags].flatMap((name) => {
    const value: unknown = command.getOptionValue(name);
    if (command.getOptionValueSource(name) !== 'cli' || typeof value !== 'string') return [];
    if (addressFlags.includes(name) && !withPassword.test(value)) return [];
    const instead = clusterFlags.includes(name)
      ? 'Give it the name cluster0 or cluster1, with --cluster0-file or --cluster1-file.'
      : `Use ${flagName(name + FILE_FLAG_SUFFIX)}.`;
    return [{ value, warning: `Warning: the list of processes shows the value of ${flagName(name)}. ${instead}` }];
  });
}

/** Warns of secrets among the flags, and takes them out of the process's line in the list of processes. */
export function hideSecretFlags(command: Command): void {
  const found = secretFlags(command);
  if (found.length === 0) return;
  for (const { warning } of found) console.error(warning);
  const hidden = process.argv
    .slice(2)
    .map((word) => found.reduce((text, { value }) => text.replaceAll(value, '***'), word));
  process.title = ['convoy', ...hidden].join(' ');
}
