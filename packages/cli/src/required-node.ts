import { readFileSync } from 'node:fs';

/*
 * Ends the program on an older Node.js than package.json asks for, before any other module runs. Node.js 14 reads this
 * syntax.
 */
const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  engines: { node: string };
};
const required = manifest.engines.node.replace('>=', '');
const [requiredMajor = 0, requiredMinor = 0] = required.split('.').map(Number);
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < requiredMajor || (major === requiredMajor && minor < requiredMinor)) {
  console.error(
    `Convoy needs Node.js ${required} or later; this is ${process.versions.node}. ` +
      'Install a newer one, and run the command again.',
  );
  process.exit(1);
}
