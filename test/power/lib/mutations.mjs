import { chooseMutants } from '../../chaos/lib/mutations.mjs'

/** Faults of durability, each as a piece of the built product replaced by another. `kinds` are the cuts that may show it. */
export const MUTANTS = [
  {
    name: 'synchronous-normal',
    says: 'a commit does not wait for the disk',
    kinds: ['reported', 'operator'],
    caughtBy: ['I7', 'owned'],
    replacements: [
      { file: 'db/sqlite/connection.js', find: "synchronous === 'full' ? 'FULL' : 'NORMAL'", put: "'NORMAL'" },
    ],
  },
  {
    name: 'contents-not-synced',
    says: 'an answer is kept without waiting for the disk',
    kinds: ['reported'],
    caughtBy: ['I10'],
    replacements: [{ file: 'db/content/open-content.js', find: "synchronous: 'full'", put: "synchronous: 'normal'" }],
  },
  {
    name: 'settle-after-end',
    says: 'the end of an answer leaves before its charge is durable',
    kinds: ['reported'],
    caughtBy: ['I7'],
    replacements: chooseMutants('settle-after-end')[0].replacements,
  },
  {
    name: 'journal-not-synced',
    says: 'an end in settles.journal does not wait for the disk',
    kinds: ['full'],
    caughtBy: ['I7'],
    replacements: [
      {
        file: 'db/settle-journal.js',
        find: `await file.write(framed, 0, framed.length, end);
        await file.datasync();`,
        put: 'await file.write(framed, 0, framed.length, end);',
      },
    ],
  },
  {
    name: 'folder-not-synced',
    says: 'the name of a new data folder is not made durable',
    kinds: ['operator'],
    caughtBy: ['owned'],
    replacements: [{ file: 'lib/files.js', find: 'await syncFolder(folder);', put: '' }],
  },
  {
    name: 'half-a-keyring',
    says: 'the key keyring is written under its own name',
    kinds: ['keyring'],
    caughtBy: ['verify'],
    replacements: [
      { file: 'app/key-ring.js', find: 'await writeDurably(temporary,', put: 'await writeDurably(path,' },
      { file: 'app/key-ring.js', find: 'await link(temporary, path);', put: '' },
    ],
  },
]
