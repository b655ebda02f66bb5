import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';

/**
 * What is wrong with the links of a built site: pages, files and anchors that do not exist, and scripts, styles, fonts
 * or pictures of other hosts, without which it would not work offline.
 * @param {string} folder of the site
 * @param {string} base path below which it is served, with slashes at both ends
 * @returns {{ links: number, wrong: string[] }} how many links were followed, and a line for each wrong one
 */
export function checkLinks(folder, base) {
  const files = readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile());
  const pages = new Map(files.filter((name) => name.endsWith('.html')).map((name) => [name, pageIn(folder, name)]));
  const anchorsOf = (name) => pages.get(name)?.anchors;
  let links = 0;
  const wrong = [...pages].flatMap(([name, page]) => {
    links += page.links.length;
    return page.links.flatMap(({ target, isLoaded }) => {
      const fault = faultOf(target, { name, base, folder, isLoaded, anchorsOf });
      return fault === undefined ? [] : [`${name}: ${target} ${fault}`];
    });
  });
  const styles = files.filter((name) => name.endsWith('.css')).flatMap((name) => foreignAddresses(folder, name));
  return { links, wrong: [...new Set([...wrong, ...styles])] };
}

/** Links of a page's elements, and the anchors that others can lead to. What its scripts hold is left out. */
function pageIn(folder, name) {
  const html = readFileSync(join(folder, name), 'utf8').replace(/(<script\b[^>]*>)[\s\S]*?<\/script>/g, '$1');
  const links = [...html.matchAll(/<(a|link|script|img)\b[^>]*?\s(?:href|src)="([^"]*)"/g)].map(
    ([, element, target]) => ({ target: unescaped(target), isLoaded: element !== 'a' }),
  );
  return { links, anchors: new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => unescaped(id))) };
}

function faultOf(target, { name, base, folder, isLoaded, anchorsOf }) {
  if (/^(data|mailto):/.test(target)) return undefined;
  if (/^([a-z]+:)?\/\//.test(target)) return isLoaded ? 'is loaded from another host' : undefined;
  const [path = '', anchor] = decodeURI(target).split('#');
  if (path.startsWith('/') && !path.startsWith(base)) return `is not below ${base}`;
  const inside = path.startsWith('/') ? path.slice(base.length) : posix.join(posix.dirname(name), path);
  const file = path === '' ? name : [inside, `${inside}.html`, posix.join(inside, 'index.html')].find(isFileIn(folder));
  if (file === undefined) return 'does not exist';
  if (!anchor || !file.endsWith('.html')) return undefined;
  return anchorsOf(file)?.has(anchor) ? undefined : 'has no such anchor';
}

const isFileIn = (folder) => (name) => existsSync(join(folder, name)) && statSync(join(folder, name)).isFile();

function foreignAddresses(folder, name) {
  const text = readFileSync(join(folder, name), 'utf8');
  return [...text.matchAll(/(?:url\(|@import )["']?((?:https?:)?\/\/[^"')]+)/g)].map(
    ([, address]) => `${name}: ${address} is loaded from another host`,
  );
}

function unescaped(text) {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}
