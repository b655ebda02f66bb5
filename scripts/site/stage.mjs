import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesBeside, isPicture, pageOf } from '../../site/document-tree.mjs';
import { capitalised, chapterOf, groupsOf, linkOf, sidebarOf, tasksOf } from '../../site/navigation.mjs';
import { root } from '../process.mjs';
import { repositoryUrl } from '../release/repository.mjs';

/** What the theme of VitePress consists of; the files themselves are in `site`. */
const themeEntry = "import { theme } from './theme.mjs';\nimport './style.css';\nexport default theme;\n";
const parts = ['config.mjs', 'document-tree.mjs', 'markdown-rules.mjs'];
const themeParts = ['theme.mjs', 'style.css'];

/** Every document of the repository with its text, by path. */
export function readDocuments() {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '*.md'], {
    cwd: root,
    encoding: 'utf8',
  });
  const paths = listed.split('\0').filter((path) => path !== '' && !path.startsWith('site/'));
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/**
 * Lays out what VitePress builds: pages, files that they link, the navigation and the theme.
 * @param {string} folder of the packages; its former pages are removed
 * @param {{ base: string, outDir: string }} options
 */
export function stage(folder, { base, outDir }) {
  const documents = readDocuments();
  const readme = documents.get('README.md');
  const pages = join(folder, 'pages');
  const own = join(folder, '.vitepress');
  for (const former of [pages, own]) rmSync(former, { recursive: true, force: true });

  for (const [path, text] of documents) write(join(pages, pageOf(path)), withLayout(text));
  write(join(pages, 'index.md'), homePage(readme));
  for (const file of new Set([...documents].flatMap(([path, text]) => filesBeside(path, text))))
    copy(file, join(pages, 'public', isPicture(file) ? file : join('files', `${file}.txt`)));
  copy('site/icon.svg', join(pages, 'public', 'icon.svg'));

  for (const part of parts) copy(`site/${part}`, join(own, part));
  for (const part of themeParts) copy(`site/${part}`, join(own, 'theme', part));
  write(join(own, 'theme', 'index.mjs'), themeEntry);
  const groups = groupsOf(documents);
  const staged = {
    base,
    outDir,
    description: firstParagraph(readme),
    version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version,
    repository: repositoryUrl()?.replace(/^git\+|\.git$/g, ''),
    sources: [...[...documents.keys()].map((path) => [pageOf(path), path]), ['index.md', 'README.md']],
    nav: tasksOf(readme).map(({ title, items }) => ({
      text: title,
      items: items.map((item) => ({ text: item.title, link: linkOf(item.path) })),
    })),
    sidebar: sidebarOf(groups),
  };
  write(join(own, 'staged.json'), JSON.stringify(staged));
}

/** A document without chapters has no outline beside it, and its tables take that room. */
function withLayout(text) {
  return /^## /m.test(text) ? text : `---\naside: false\n---\n${text}`;
}

/** The home page: what the README says of Convoy, in the order in which one decides. */
function homePage(readme) {
  const [introduction] = readme.split(/^## /m);
  const features = [...introduction.matchAll(/^- \*\*(.+?)\*\*: (.+)$/gm)].map(([, title, text]) => ({
    title,
    details: capitalised(text.replace(/\*(.+?)\*/g, '<em>$1</em>')),
  }));
  const [, alt, src] = /^!\[(.+)\]\((.+)\)$/m.exec(introduction) ?? [];
  const [dashboard] = /^<p>[\s\S]*?^<\/p>$/m.exec(readme) ?? [];
  if (features.length === 0 || src === undefined || dashboard === undefined)
    throw new Error('The README has no list of features, no picture of the flow, or none of the dashboard.');
  const front = {
    layout: 'home',
    hero: {
      name: 'Convoy',
      text: 'Migrate a live MongoDB cluster, and compare every document',
      tagline: firstParagraph(readme),
      image: { src: `/${src}`, alt },
      actions: [
        { theme: 'brand', text: 'Try it in a minute', link: '/overview#two-commands' },
        { theme: 'alt', text: 'What works, what does not', link: '/guide/this-release' },
        { theme: 'alt', text: 'Run a migration', link: '/guide/operations' },
      ],
    },
    features,
  };
  const tasks = tasksOf(readme).map(
    ({ title, items }) => `- **${title}**: ${items.map((item) => `[${item.title}](${item.path})`).join(', ')}`,
  );
  const places = { dashboard, tasks: tasks.join('\n') };
  // Its links are those of the README from here on, as are those of the chapters.
  const text = readFileSync(join(root, 'site/home.md'), 'utf8')
    .replace(/^<!--.*-->\n/, '')
    .replaceAll('](../', '](');
  const body = text.replace(/\{\{(.+?)\}\}/g, (_, name) => places[name] ?? chapterOf(readme, name));
  return `---\n${JSON.stringify(front)}\n---\n${body}`;
}

function firstParagraph(readme) {
  return readme.split('\n\n')[1].trim();
}

function copy(path, target) {
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(root, path), target);
}

function write(target, text) {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}
