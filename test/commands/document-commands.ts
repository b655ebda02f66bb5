import { readText, trackedFiles } from '../source-tree.js';

/** A command that a document shows in a block. */
export interface DocumentCommand {
  /** Path of the document. */
  page: string;
  /** The command without its comment; lines that a backslash or a loop joins are one. */
  command: string;
}

const documents = trackedFiles().filter((path) => path.endsWith('.md'));
const shells = ['sh', 'bash', 'shell', 'console', 'zsh'];
/** A block without a language is one of commands when a line begins with one of these. */
const programs = /^\$? ?(?:convoy|simulator|npm|npx|node|docker|kubectl|helm|curl|systemctl|journalctl|export)\s/m;

/** The commands in the blocks of all documents. */
export function commandsInBlocks(): DocumentCommand[] {
  return documents.flatMap((page) =>
    blocksOf(readText(page)).flatMap((block) => commandsOf(block).map((command) => ({ page, command }))),
  );
}

/** Commands of Convoy that documents name in their text or in tables, with what they show as options. */
export function commandsInText(): DocumentCommand[] {
  return documents.flatMap((page) => {
    const prose = readText(page).replace(/^ *```[\s\S]*?^ *```/gm, '');
    const spans = [...prose.matchAll(/`((?:convoy|simulator|npm|npx @convoy\/[a-z]+) [^`\n]+)`/g)];
    return spans.map(([, command = '']) => ({ page, command }));
  });
}

/** Contents of a document's blocks of commands, without their indentation. */
export function blocksOf(text: string): string[] {
  return [...text.matchAll(/^( *)```([a-z]*)\n([\s\S]*?)^\1```/gm)]
    .map(([, indentation = '', language = '', content = '']) => ({
      language,
      content: content.replace(new RegExp(`^${indentation}`, 'gm'), ''),
    }))
    .filter(({ language, content }) => shells.includes(language) || (language === '' && programs.test(content)))
    .map(({ content }) => content);
}

/** The commands of a block: a line each, unless a backslash or a loop goes on in the next one. */
export function commandsOf(block: string): string[] {
  const whole = block.replace(/\\\n\s*/g, '').replace(/^#.*\n|\s+# .*$/gm, '');
  return [...whole.matchAll(/^for [\s\S]*?^done$|^.+$/gm)].map(([command]) => command.trim());
}
