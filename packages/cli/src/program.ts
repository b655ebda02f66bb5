import { readFileSync } from 'node:fs';
import { Command, Help } from 'commander';
import { addCheckCommand } from './commands/check-command.js';
import { addCleanupCommands } from './commands/cleanup-command.js';
import { addCompletionCommand } from './commands/completion-command.js';
import { addDemoCommand } from './commands/demo-command.js';
import { addExamples } from './commands/examples.js';
import { exitCodeTexts } from './commands/exit-code.js';
import { addLogsCommand } from './commands/logs-command.js';
import { addNotifyCommand } from './commands/notify-command.js';
import { addProbeCommand } from './commands/probe-command.js';
import { addProcessCommands } from './commands/process-commands.js';
import { addReportCommand } from './commands/report-command.js';
import { hideSecretFlags } from './commands/secret-flags.js';
import { addServiceCommands } from './commands/service-commands.js';
import { addStartCommand } from './commands/start-command.js';
import { addVerifyCommand } from './commands/verify-command.js';
import { withoutColours } from './progress-view/colours.js';

/** The command line with all its commands; nothing runs yet. */
export function convoyCommand(): Command {
  const program = new Command('convoy')
    .description('Migrates a live MongoDB cluster, even to a different number of shards.')
    .usage('<command> [options]')
    .version(ownVersion())
    .helpCommand('help [command]', 'print the options of a command')
    .showHelpAfterError('(see convoy --help)')
    .option('--no-color', 'print without colours')
    .configureHelp({ formatHelp: formatHelp, showGlobalOptions: true, minWidthToWrap })
    .exitOverride()
    .hook('preAction', (_program, command) => {
      hideSecretFlags(command);
      if (command.optsWithGlobals()['color'] === false) withoutColours(process.env);
    });
  addProcessCommands(program);
  addCheckCommand(program);
  addProbeCommand(program);
  addStartCommand(program);
  addServiceCommands(program);
  addLogsCommand(program);
  addReportCommand(program);
  addNotifyCommand(program);
  addVerifyCommand(program);
  addCleanupCommands(program);
  addDemoCommand(program);
  addCompletionCommand(program);
  addExamples(program);
  return program;
}

/** Columns that are left for the texts of options beside the longest flag of 40, on a screen of 80. */
const minWidthToWrap = 34;

/** The program's help fits a screen of 24 lines; commands have commander's format. */
function formatHelp(command: Command, help: Help): string {
  if (command.parent !== null) return Help.prototype.formatHelp.call(help, command, help);
  const width = Math.max(...command.commands.map((one) => one.name().length));
  const codes = Object.entries(exitCodeTexts).map(([code, text]) => `${code} ${text}`);
  return [
    `${command.name()} ${command.usage()}   (options: convoy <command> --help)`,
    command.description(),
    ...command.commands.map((one) => `  ${one.name().padEnd(width)}  ${one.description()}`),
    `Exit codes: ${codes.slice(0, 3).join(', ')},`,
    `  ${codes.slice(3).join(', ')}.`,
    '',
  ].join('\n');
}

function ownVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}
