import type { Effort } from '../model/effort.ts'
import type { CatalogEntry } from './catalog.ts'

/** One entry of the model list: the four fields that SDKs type, and what user interfaces like to know. */
interface ModelDescription {
  readonly id: string
  readonly object: 'model'
  readonly created: number
  readonly owned_by: string
  readonly description?: string
  readonly context_length: number
  readonly max_output_tokens: number
  readonly input_modalities: readonly string[]
  /** Left out where any effort is passed on. */
  readonly supported_reasoning_efforts?: readonly Effort[]
}

export function describeModel({ id, model, suffixEffort }: CatalogEntry): ModelDescription {
  const efforts = suffixEffort === undefined ? model.efforts : [suffixEffort]
  return {
    id,
    object: 'model',
    created: model.createdAt,
    owned_by: model.ownedBy,
    ...(model.description === undefined ? {} : { description: model.description }),
    context_length: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    input_modalities: model.inputs,
    ...(efforts === undefined ? {} : { supported_reasoning_efforts: efforts }),
  }
}

/**
 * What Codex tells a model it does not know by itself. Its list of models has to bring such a text, and an empty one would
 * leave the agent without a word about what it is. Our own words; `model_instructions_file` in Codex's settings replaces them.
 */
const CODEX_INSTRUCTIONS = `You are a coding agent in Codex, a program that runs in the user's terminal. You and the user work in the same folder on the same machine: what you do with your tools really happens there.

# How you work
- Keep going until the task is done, then stop. Do not hand back a plan where the work itself was asked for, and do not guess what you can look up.
- Look before you change: read the files concerned, and search with \`rg\` and \`rg --files\`, or \`grep\` and \`find\` where they are missing. Run independent look-ups together.
- Before a group of tool calls say in one short sentence what comes next. Leave it out before a single trivial one.
- A command that runs for long gives you a session; read on from it, or write to it, instead of starting it again.
- Do exactly what was asked. Mention other faults that you see; do not mend them unasked.

# AGENTS.md
- Files of that name hold instructions for you. One applies to everything in its folder and below; the deeper one wins, and what the user says directly wins over both.
- Those from the current folder up to the root of the repository are given to you already. Look for others where you work elsewhere.

# Changing files
- Edit with the tool \`apply_patch\` where you have it. It fails loudly, so there is no need to read a file again after it.
- Mend the cause, not the symptom. Keep changes small and in the style of the code around them: its names, its formatting, its amount of comments. Bring documents along that the change makes wrong.
- The folder may hold changes of the user. Never undo what you did not do. Do not commit, branch, reset or delete what was not made by you unless you are asked to.
- No licence headers, no added dependencies, no new test framework unless asked.

# Checking
- Where the project can be built or tested, do so: first what is closest to the change, then more. Say plainly what you could not run, and what failed.
- Do not call something done that you have not seen to work.

# Permissions
- What the sandbox and the approval policy allow is told to you separately. Where a command is refused, find another way or ask; do not work around it.

# Your answers
- The user sees them in a terminal, as plain Markdown. Be brief: for a small change one or two sentences. For a larger one say what changed, where, and what is left to decide.
- Name files as paths in backticks, with a line where that helps: \`src/app.ts:42\`. The user has the files; do not repeat them.
- Questions are answered with words, not with changes.
`

interface EffortLevel {
  readonly effort: Effort
  readonly description: string
}

/**
 * One entry of the list that Codex reads beside `data`. What it needs and what it makes of it was measured with Codex 0.169:
 * `docs/clients/codex.md`. A single entry that it cannot decode loses it the whole list.
 */
interface CodexModel {
  readonly slug: string
  readonly display_name: string
  readonly description?: string
  readonly supported_reasoning_levels: readonly EffortLevel[]
  /** What it sends where its user has set nothing. Left out: it sends no effort. */
  readonly default_reasoning_level?: Effort
  readonly visibility: 'list' | 'hide'
  readonly supported_in_api: true
  /** Lower stands higher in its picker. */
  readonly priority: number
  readonly base_instructions: string
  /** It compacts at nine tenths of it. */
  readonly context_window: number
  readonly input_modalities: readonly string[]
  readonly shell_type: 'unified_exec'
  readonly apply_patch_tool_type: 'freeform'
  readonly support_verbosity: false
  readonly truncation_policy: { readonly mode: 'tokens'; readonly limit: number }
  readonly experimental_supported_tools: readonly string[]
}

/** How much of a tool's output it keeps: what it does for models of its own. */
const TOOL_OUTPUT_TOKENS = 10_000

export const describeForCodex = (entries: readonly CatalogEntry[]): CodexModel[] => entries.map(describeEntry)

function describeEntry({ id, model, suffixEffort }: CatalogEntry, index: number): CodexModel {
  const efforts = suffixEffort === undefined ? (model.efforts ?? []) : [suffixEffort]
  const levels = efforts.filter(isSentAsNamed).map((effort) => ({ effort, description: `${effort} effort` }))
  // Whoever has chosen a suffix has chosen the effort: another default, such as that of a model of its own whose name begins
  // alike, would be a conflict. Where there is no suffix the provider decides, as for every other client.
  const fixed = suffixEffort !== undefined && isSentAsNamed(suffixEffort) ? suffixEffort : undefined
  return {
    slug: id,
    display_name: id,
    ...(model.description === undefined ? {} : { description: model.description }),
    supported_reasoning_levels: levels,
    ...(fixed === undefined ? {} : { default_reasoning_level: fixed }),
    // Its picker asks for `none` from a model without levels, which such a model does not have. Named in the settings or by
    // `-m`, the same model is asked for nothing.
    visibility: levels.length > 0 ? 'list' : 'hide',
    supported_in_api: true,
    priority: index,
    base_instructions: CODEX_INSTRUCTIONS,
    context_window: model.contextTokens,
    input_modalities: model.inputs.filter(isKnownToCodex),
    shell_type: 'unified_exec',
    apply_patch_tool_type: 'freeform',
    support_verbosity: false,
    truncation_policy: { mode: 'tokens', limit: TOOL_OUTPUT_TOKENS },
    experimental_supported_tools: [],
  }
}

/** It decodes any word as an effort and sends it as it is, but for `ultra`, which it sends as `max`. */
export const isSentAsNamed = (effort: Effort): boolean => effort !== 'ultra'

const isKnownToCodex = (input: string): boolean => input === 'text' || input === 'image'
