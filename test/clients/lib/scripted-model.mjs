/**
 * What the scripted model says next, by what it has been given: run a command, patch a file, say what came out. It can be
 * asked for a summary, for silence, and for what it was told before; it knows a fact only while the conversation has it.
 */
export const WORDS = { stageContext: 'ground-42', file: 'flour.txt', patched: 'stone ground, 水車', done: 'GROUND' }

/** For prompts: how long it says nothing, before its first word or after it. */
export const SILENT = (ms) => `Think about it. SILENT-${ms}`
export const PAUSED = (ms) => `Say it slowly. PAUSED-${ms}`
/** For prompts: its usage says that the context is nearly full, so that the client makes it short. */
export const CROWDED = (tokens) => `Grind it in a crowded mill. CROWDED-${tokens}`

/** For prompts: it runs the command again and again. */
export const ENDLESS = (tokens) => `Grind on, and do not stop. ENDLESS CROWDED-${tokens}`

const PATCH = `*** Begin Patch\n*** Add File: ${WORDS.file}\n+${WORDS.patched}\n*** End Patch`
// What it prints stands nowhere in the command.
const COMMAND = 'echo ground-$((6*7))'

/**
 * `asked`: the last that the user said; `words`: all words but tools' outputs, what a compaction left of them included;
 * `trigger`: the provider is to make it short by itself.
 */
export function nextStep({ tools, outputs, receivedRequest, words, trigger }) {
  const known = /ground-\d+/.exec(`${words} ${outputs.join(' ')}`)?.[0] ?? 'nothing'
  if (trigger) return { compaction: `Sealed by the miller: ${known}` }
  if (tools.length === 0) return { text: `The miller's notes: it was ${known}.` }
  const [, silence] = /SILENT-(\d+)/.exec(receivedRequest) ?? []
  const [, pause] = /PAUSED-(\d+)/.exec(receivedRequest) ?? []
  if (silence ?? pause)
    return { text: `${WORDS.done} at last`, silentMs: Number(silence ?? 0), pauseMs: Number(pause ?? 0) }
  if (outputs.length === 0 && known !== 'nothing') return { text: `${WORDS.done} as remembered: ${known}` }
  const call = nextCall(tools, /ENDLESS/.test(receivedRequest) ? 0 : outputs.length)
  const [, crowded] = /CROWDED-(\d+)/.exec(receivedRequest) ?? []
  if (call) return { ...call, tokens: Number(crowded ?? 10) }
  return { text: `${WORDS.done} after ${outputs.length} outputs: ${outputs.join(' | ').replace(/\s+/g, ' ')}` }
}

function nextCall(tools, outputs) {
  const find = (names) => tools.find(({ name }) => names.test(name))
  const program = find(/^(functions__)?exec$/)
  if (program && outputs < 2) return { tool: program, input: wrapped(program, PROGRAMS[outputs]) }
  const shell = find(/^(exec_command|shell|shell_command)$/)
  if (shell && outputs === 0) return { tool: shell, input: commandFor(shell) }
  const patch = find(/^apply_patch$/)
  return patch && outputs === 1 ? { tool: patch, input: wrapped(patch, PATCH) } : undefined
}

/** "Responses lite" has one tool, which runs programs, and the others are functions in them. */
const PROGRAMS = [
  `const done = await tools.exec_command({ cmd: ${JSON.stringify(COMMAND)} })\ntext(done.output)`,
  `await tools.apply_patch(${JSON.stringify(PATCH)})\ntext("patched")`,
]

/** A tool of free text, where the server does not know such tools, has become a function with one field. */
const wrapped = (tool, input) => (tool.custom ? input : { input })

function commandFor({ parameters }) {
  if (parameters.properties.cmd) return { cmd: COMMAND }
  return { command: parameters.properties.command.type === 'array' ? ['bash', '-lc', COMMAND] : COMMAND }
}
