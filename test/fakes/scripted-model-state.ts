import type { Fields } from '../../src/lib/types.ts'
import {
  type ModelState,
  type OutputCall,
  outputName,
  type ParsedRequest,
  type ParsedTool,
  type Saying,
  type Step,
} from './polite-model.ts'

/** What a miller knows of its work: all of it is in what it was sent, for it remembers nothing. */
interface Known {
  readonly facts: Map<string, string>
  /** Calls of tools that had a result. */
  done: number
  task: { readonly name: string; readonly calls: number; done: number } | undefined
  question: string | undefined
}

/**
 * A model that works as agents have it work: a task is so many calls of tools, one after another, and a question is
 * answered from the facts that stand in the request. Asked for a summary it writes down exactly those, and where it stands.
 * A fact is `FACT name = value`, wherever it is said; nothing else that is said looks like one.
 */
export const scriptedModelState = (counts: ModelState['countsOf']): ModelState => ({ sayingOf, countsOf: counts })

export const TASK = (name: string, calls: number): string => `Task ${name}: ${calls} calls.`
export const QUESTION = (about: string): string => `What is ${about}?`
export const HOW_MUCH = 'How much was done?'
export const FACT = (name: string, value: string): string => `FACT ${name} = ${value}`
export const answerTo = (about: string, value: string | undefined): string =>
  value === undefined ? `I do not know ${about}.` : `The ${about} is ${value}.`
export const answerToHowMuch = (done: number): string => `Done so far: ${done} calls.`

const SUMMARY = 'Summary of the mill.'

let callsMade = 0

function sayingOf({ steps, tools, choice, effort }: ParsedRequest): Saying {
  const thoughts = effort === undefined || effort === 'none' ? [] : ['Let me', ' think.']
  const emits = (text: string): Saying => ({ thoughts, words: text.match(/\s*\S+/g) ?? [], calls: [] })
  if (requestsSummary({ steps, tools, choice })) return emits(summaryOf(knownFrom(steps.slice(0, -1))))
  const known = knownFrom(steps)
  if (known.question !== undefined) return emits(answerOf(known, known.question))
  const { task } = known
  if (task === undefined) return emits('There is nothing to do.')
  const tool = tools[known.done % tools.length]
  if (task.done >= task.calls || tool === undefined) return emits(`Task ${task.name} is done.`)
  return { thoughts, words: [], calls: [callOf(tool, `${task.name}-${task.done}`)] }
}

/** Only a request for a summary mentions one, and it never lets the model call tools. */
export const requestsSummary = ({ steps, tools, choice }: Pick<ParsedRequest, 'steps' | 'tools' | 'choice'>): boolean =>
  (tools.length === 0 || choice === 'none') &&
  steps.at(-1)?.from === 'user' &&
  /summary/i.test(steps.at(-1)?.text ?? '')

function knownFrom(steps: readonly Step[]): Known {
  const known: Known = { facts: new Map(), done: 0, task: undefined, question: undefined }
  for (const { from, text } of steps) {
    for (const [, name, value] of text.matchAll(/FACT (\S+) = (\S+)/g)) known.facts.set(name!, value!)
    if (from === 'user') readUser(known, text)
    if (from === 'assistant') known.question = undefined
    if (from === 'result' && text !== 'aborted') {
      known.done += 1
      if (known.task) known.task.done += 1
    }
  }
  return known
}

function readUser(known: Known, text: string): void {
  const isSummary = text.includes(SUMMARY)
  if (isSummary) known.done += Number(/^DONE (\d+)$/m.exec(text)?.[1])
  const [, name, calls, done = '0'] = /^Task (\S+): (\d+) calls\.(?: DONE OF THEM (\d+))?$/m.exec(text) ?? []
  if (name !== undefined) known.task = { name, calls: Number(calls), done: Number(done) }
  else if (isSummary) known.task = undefined
  const question = /^(?:What is (\S+)|How much was done)\?$/m.exec(text)
  known.question = question === null || isSummary ? undefined : (question[1] ?? HOW_MUCH)
}

const answerOf = ({ facts, done }: Known, question: string): string =>
  question === HOW_MUCH ? answerToHowMuch(done) : answerTo(question, facts.get(question))

const summaryOf = ({ facts, done, task }: Known): string =>
  [
    SUMMARY,
    ...[...facts].map(([name, value]) => FACT(name, value)),
    `DONE ${done}`,
    ...(task === undefined ? [] : [`${TASK(task.name, task.calls)} DONE OF THEM ${task.done}`]),
  ].join('\n')

function callOf({ parameters, ...tool }: ParsedTool, about: string): OutputCall {
  const input = `*** Begin ${outputName(tool)} of ${about}\n+a "quoted" line\n`
  const names = Object.keys((parameters.properties ?? {}) as Fields)
  const args = Object.fromEntries(names.map((name) => [name, name === 'input' ? input : about]))
  callsMade += 1
  return { ...tool, id: `call_mill_${callsMade}`, text: tool.kind === 'custom' ? input : JSON.stringify(args) }
}
