import { readFileSync } from 'node:fs';
import { Command, Help } from 'commander';
import { addCleanupCommands } from './commands/cleanup-command.js';
import { addCheckCommand, addProbeCommand, addVerifyCommand } from './commands/cluster-commands.js';
import { addCompletionCommand } from './commands/completion-command.js';
import { addDemoCommand } from './commands/demo-command.js';
import { exitCodeTexts } from './commands/exit-code.js';
import { addNotifyCommand, addProcessCommands } from './commands/process-commands.js';
import { addServiceCommands } from './commands/service-commands.js';
import { hideSecretFlags } from './commands/settings.js';
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
  addServiceCommands(program);
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

/** Examples at the end of each command's help; a test parses every one. */
const examples: Readonly<Record<string, readonly string[]>> = {
  instance: [
    'convoy instance --config convoy.yaml --id shard0',
    'convoy instance --cluster0-file /run/secrets/cluster0 --cluster1-file /run/secrets/cluster1',
  ],
  coordinator: [
    'convoy coordinator --redis redis://redis.example:6379',
    'convoy coordinator --config coordinator.yaml',
  ],
  check: ['convoy check --config convoy.yaml', 'convoy check --config convoy.yaml --include shop.orders --json'],
  probe: ['convoy probe --cluster cluster1 --config convoy.yaml', 'convoy probe --list'],
  start: [
    'convoy start --reversible --enable-user-write-blocking',
    'convoy start --include shop --include crm.contacts --exclude shop.tmp --wait',
  ],
  pause: ['convoy pause --wait 60'],
  resume: ['convoy resume'],
  commit: ['convoy commit --wait 600'],
  reverse: ['convoy reverse --wait'],
  progress: [
    'convoy progress',
    'convoy progress --collections --sort percent --search shop.',
    'convoy progress --hot-documents --config convoy.yaml',
  ],
  watch: ['convoy watch --url http://coordinator.example:27180'],
  logs: ['convoy logs', 'convoy logs --follow --json'],
  notify: ['convoy notify --config coordinator.yaml'],
  report: ['convoy report --output shop.html'],
  verify: ['convoy verify --config convoy.yaml --include shop --report shop.md'],
  cleanup: ['convoy cleanup --config convoy.yaml', 'convoy cleanup --config convoy.yaml --yes --json'],
  unblock: ['convoy unblock cluster0 --config convoy.yaml'],
  demo: ['convoy demo --documents 20000 --keep', 'convoy demo --load mongodb://127.0.0.1:27100/ --documents 50000'],
  completion: [
    'source <(convoy completion bash)',
    'source <(convoy completion zsh)',
    'convoy completion fish | source',
  ],
};

/** Adds the examples to the help of every command. */
function addExamples(program: Command): void {
  for (const command of program.commands) {
    const lines = examples[command.name()] ?? [];
    command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  }
}
