import { posix } from 'node:path';

/**
 * The page that a document becomes: `docs/` is left out, and a README stands for its folder.
 * @param {string} path of the document, from the repository's folder
 * @returns {string} path of the page's Markdown
 */
export function pageOf(path) {
  if (path === 'README.md') return 'overview.md';
  const page = path.replace(/^docs\//, '').toLowerCase();
  return page === 'decisions/readme.md' ? 'decisions/index.md' : page.replace(/\/readme\.md$/, '.md');
}

/**
 * Where a link of a document leads on the site. What is no document and no picture comes along as text.
 * @param {string} path of the document
 * @param {string} target of its link, as it is written
 * @returns {string} the target itself when it leads to another site or to a place of the same document
 */
export function siteTarget(path, target) {
  if (/^[a-z]+:/.test(target) || target.startsWith('#')) return target;
  const { file, anchor } = fileOf(path, target);
  if (file.endsWith('.md')) return `/${pageOf(file)}${anchor}`;
  return isPicture(file) ? `/${file}` : `/files/${file}.txt`;
}

/**
 * Files that links of a document need beside the documents, from the repository's folder.
 * @param {string} path of the document
 * @param {string} text its Markdown
 * @returns {string[]}
 */
export function filesBeside(path, text) {
  const prose = text.replace(/^ *```[\s\S]*?^ *```/gm, '');
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)|<img [^>]*?src="([^"]+)"/g)].map(
    ([, link, picture]) => link ?? picture,
  );
  return targets
    .filter((target) => !/^[a-z]+:/.test(target) && !target.startsWith('#'))
    .map((target) => fileOf(path, target).file)
    .filter((file) => !file.endsWith('.md'));
}

/** @param {string} file */
export function isPicture(file) {
  return /\.(png|svg)$/.test(file);
}

function fileOf(path, target) {
  const [file = '', ...anchor] = target.split(/(?=#)/);
  return { file: posix.normalize(posix.join(posix.dirname(path), file)), anchor: anchor.join('') };
}

/**
 * The anchor of a heading, as hosts of repositories make it, so that one link serves both.
 * @param {string} heading
 */
export function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Links of a piece of Markdown: their texts and the documents that they lead to. */
export function documentLinks(path, text) {
  return [...text.matchAll(/\[([^\]]+)\]\(([^)\s]+\.md)\)/g)].map(([, title, target]) => ({
    title,
    path: fileOf(path, target).file,
  }));
}
