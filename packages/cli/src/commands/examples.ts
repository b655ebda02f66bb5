import type { Command } from 'commander';

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
export function addExamples(program: Command): void {
  for (const command of program.commands) {
    const lines = examples[command.name()] ?? [];
    command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  }
}
