import { documentLinks, pageOf } from './document-tree.mjs';

/** A group of the navigation: what a reader wants to do, and the documents for it in their order. */
/** @typedef {{ title: string, items: { title: string, path: string }[] }} Group */

/**
 * The groups by readers' tasks, from the table *Read on* of the README.
 * @param {string} readme
 * @returns {Group[]}
 */
export function tasksOf(readme) {
  const chapter = chapterOf(readme, 'Read on');
  const rows = [...chapter.matchAll(/^\| ([^|]+) \| (.*) \|$/gm)].slice(1);
  return rows.map(([, task, links]) => ({ title: capitalised(task.trim()), items: documentLinks('README.md', links) }));
}

/**
 * The whole navigation: readers' tasks, every decision, packages, and what is in none of them.
 * @param {ReadonlyMap<string, string>} documents texts by path
 * @returns {Group[]}
 */
export function groupsOf(documents) {
  const tasks = tasksOf(documents.get('README.md'));
  const placed = new Set(['README.md', ...tasks.flatMap(({ items }) => items.map(({ path }) => path))]);
  const others = [...documents.keys()].filter((path) => !placed.has(path)).sort();
  const entry = (path) => ({ title: titleOf(documents.get(path)), path });
  const decisions = others.filter((path) => path.startsWith('docs/decisions/'));
  const packages = others.filter((path) => path.startsWith('packages/'));
  const rest = others.filter((path) => !decisions.includes(path) && !packages.includes(path));
  return [
    ...tasks,
    { title: 'More', items: rest.map(entry) },
    { title: 'Packages', items: packages.map(entry) },
    { title: 'Decisions', items: decisions.map(entry) },
  ].filter(({ items }) => items.length > 0);
}

/** The sidebar of VitePress: the overview, then a part for each group; the long ones are closed. */
export function sidebarOf(groups) {
  const isLong = ({ title }) => title === 'Packages' || title === 'Decisions';
  return [
    { text: 'Overview', link: '/overview' },
    ...groups.map((group) => ({
      text: group.title,
      collapsed: isLong(group),
      items: group.items.map(({ title, path }) => ({ text: capitalised(title), link: linkOf(path) })),
    })),
  ];
}

/** The address of a document's page, without its ending. */
export function linkOf(path) {
  return `/${pageOf(path)}`.replace(/(index)?\.md$/, '');
}

/**
 * Text of a chapter, without its heading.
 * @throws {Error} without the chapter
 */
export function chapterOf(text, heading) {
  const chapter = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (chapter === undefined) throw new Error(`There is no chapter "${heading}".`);
  return chapter.slice(heading.length).trim();
}

/** Text of the first heading, without marks. */
function titleOf(text) {
  return (/^# (.+)$/m.exec(text)?.[1] ?? 'Untitled').replaceAll('`', '');
}

/** @param {string} text */
export function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
