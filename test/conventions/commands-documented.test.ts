import { type Command, CommanderError, type Option } from 'commander'
import { expect, it } from 'vitest'
import { type CliServices, EXIT } from '../../src/cli/cli-services.ts'
import { createProgram } from '../../src/cli/create-program.ts'
import { pages, textOf } from './source-files.ts'

const PAGE = 'docs/operate/commands.md'
const HEADING = '## All commands\n'

const unasked = (): never => {
  throw new Error('a page is read, nothing is run')
}

/** The command line over nothing: it says what it would take. */
function bareProgram(): Command {
  const deps: CliServices = {
    terminal: {
      out: () => {},
      err: () => {},
      colours: { out: false, err: false },
      interactive: false,
      attended: false,
      ask: unasked,
    },
    program: 'millrace',
    operator: { call: unasked, callEach: unasked },
    pause: unasked,
    isAlive: unasked,
    serve: unasked,
    checkConfig: unasked,
    doctor: unasked,
    readKeyStanding: unasked,
    pinImports: unasked,
    upstreams: { list: unasked, test: unasked },
    accountsFiles: { read: unasked, openSecrets: unasked },
    readFragment: unasked,
    backUpLedger: unasked,
    restoreLedger: unasked,
    moveLedger: unasked,
    writeTemplate: unasked,
    versions: { millrace: '0', node: '0', driver: '', schema: '' },
  }
  return createProgram(deps, { quiet: false }).program
}

interface Leaf {
  readonly command: Command
  readonly words: readonly string[]
}

const leavesOf = (command: Command, words: readonly string[] = ['millrace']): Leaf[] =>
  command.commands.length === 0
    ? [{ command, words }]
    : command.commands.flatMap((child) => leavesOf(child, [...words, child.name()]))

/* What the page says of each. */

const usageOf = ({ command, words }: Leaf): string =>
  [
    ...words,
    ...command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`
      return argument.required ? `<${name}>` : `[${name}]`
    }),
  ].join(' ')

const optionLine = (option: Option): string => {
  const choices = option.argChoices?.map((choice) => `\`${choice}\``).join(', ')
  return [
    `  - \`${option.flags}\``,
    option.mandatory ? ' (required)' : '',
    `: ${option.description}`,
    choices === undefined ? '' : ` (${choices})`,
  ].join('')
}

const leafLines = (leaf: Leaf): string[] => [
  `- **\`${usageOf(leaf)}\`**: ${leaf.command.description()}`,
  ...leaf.command.options.map(optionLine),
]

function reference(program: Command): string {
  const groups = program.commands.filter(({ commands }) => commands.length > 0)
  const alone = program.commands.filter(({ commands }) => commands.length === 0)
  const lines = [
    ...['### Everywhere', '', ...program.options.map((option) => optionLine(option).trimStart()), ''],
    ...[
      '### The server and its models',
      '',
      ...alone.flatMap((command) => leavesOf(command, ['millrace', command.name()])).flatMap(leafLines),
      '',
    ],
    ...groups.flatMap((group) => [
      `### ${group.name()}: ${group.description()}`,
      '',
      ...leavesOf(group, ['millrace', group.name()]).flatMap(leafLines),
      '',
    ]),
  ]
  return `${HEADING}\n${lines.join('\n').trimEnd()}\n`
}

// To renew the page after a change of a command: npx vitest run --project conventions test/conventions/commands-documented.test.ts -u
it('the page of commands has every command with its options, as the program defines them', async () => {
  const prose = textOf(PAGE).split(HEADING)[0] ?? ''
  await expect(`${prose}${reference(bareProgram())}`).toMatchFileSnapshot(`../../${PAGE}`)
})

/* What other pages say. */

/** Words as a shell makes them; `# …` and whatever comes behind `&&`, `|` or `>` is no part of the command. */
function shellWords(line: string): string[] {
  const words: string[] = []
  for (const [word] of line.matchAll(/"[^"]*"|'[^']*'|\S+/g)) {
    if (/^(#|&&|\||>)/.test(word)) break
    words.push(word.replace(/^(["'])(.*)\1$/, '$2'))
  }
  return words
}

/** The three ways in which a page starts the program: by its name, through npm, as a file. */
const STARTS = /^\s*(?:\$ )?(?:millrace|npm start(?: --)?|node (?:--\S+ )*dist\/app\/main\.js)(?= |$)(.*)$/

const fencesOf = (page: string): string[] =>
  [...page.matchAll(/^ *```\w*\n(.*?)^ *```/gms)].map(([, body]) => body ?? '')

const linesIn = (page: string): string[][] =>
  fencesOf(page)
    .flatMap((fence) => fence.split('\n'))
    .flatMap((line) => {
      const [, rest] = STARTS.exec(line) ?? []
      return rest === undefined ? [] : [shellWords(rest)]
    })

const mentionsIn = (page: string): string[][] =>
  [
    ...page
      .replace(/^ *```.*?^ *```/gms, '')
      .replaceAll('\n', ' ')
      .matchAll(/`millrace ([^`]+)`/g),
  ].map(([, rest]) => shellWords(rest ?? ''))

/** Undefined where the words are a command line; else what is wrong with them. An argument in `[brackets]` may be left out. */
async function complaintAbout(words: readonly string[]): Promise<string | undefined> {
  const program = bareProgram()
  for (const { command } of leavesOf(program)) command.action(() => {})
  const given = words.filter((word) => !/^\[.*\]$/.test(word))
  const argv = program.parseOptions([...given]).operands.length === 0 ? ['serve', ...given] : given
  try {
    await program.parseAsync(argv, { from: 'user' })
    return undefined
  } catch (error) {
    if (error instanceof CommanderError) return `millrace ${words.join(' ')}: ${error.message}`
    throw error
  }
}

/** A mention may leave out what a command needs; what it names has to be there. */
function complaintAboutMention(words: readonly string[]): string | undefined {
  const program = bareProgram()
  let command = program
  let at = 0
  for (; at < words.length; at += 1) {
    const child = command.commands.find((each) => each.name() === words[at])
    if (child === undefined) break
    command = child
  }
  const next = words[at] ?? ''
  if (command.commands.length > 0 && next !== '' && !next.startsWith('-')) return `millrace ${words.join(' ')}`
  const known = [...program.options, ...command.options].flatMap(({ long, short }) => [long, short])
  const flags = words.filter((word) => /^--?[a-z]/.test(word)).map((flag) => flag.replace(/=.*/, ''))
  return flags.every((flag) => known.includes(flag)) ? undefined : `millrace ${words.join(' ')}`
}

it('every command line in a page can be typed', async () => {
  const complaints: string[] = []
  for (const path of pages()) {
    for (const words of linesIn(textOf(path))) {
      const complaint = await complaintAbout(words)
      if (complaint !== undefined) complaints.push(`${path}: ${complaint}`)
    }
  }
  expect(complaints).toEqual([])
})

it('every command that a page mentions is there, with the options that it names', () => {
  const complaints = pages().flatMap((path) =>
    mentionsIn(textOf(path))
      .map(complaintAboutMention)
      .filter((complaint) => complaint !== undefined)
      .map((complaint) => `${path}: ${complaint}`),
  )
  expect(complaints).toEqual([])
})

it('the exit codes in the page are those of the program', () => {
  const [, table = ''] = textOf('docs/operate/running.md').split('## Exit codes')
  const ours = [...table.matchAll(/^\| (\d) \|/gm)].map(([, code]) => Number(code))
  expect(ours).toEqual([...new Set<number>(Object.values(EXIT))].sort())
})

it('a command line with a mistake would be noticed', async () => {
  const page = [
    'Say `millrace wallet\nshow --depth`, or `millrace keys mint`, or `millrace keys list`:',
    '```sh',
    '$ millrace wallet show # of whom?',
    'npm start -- --port 70000',
    'node --a=b dist/app/main.js serve --loud',
    'millrace wallet credit ann@example.com 5.00 --reason "a gift" --ref g1 && millrace nothing',
    'millrace people list [account]',
    'millrace',
    '```',
  ].join('\n')
  const complaints = await Promise.all(linesIn(page).map(complaintAbout))
  expect(complaints.map((complaint) => complaint !== undefined)).toEqual([true, true, true, false, false, false])
  expect(mentionsIn(page).map((words) => complaintAboutMention(words) !== undefined)).toEqual([true, true, false])
})
