import type { Effort } from '../model/effort.ts'
import type { CatalogEntry } from './catalog.ts'

/** An entry of the model list: the four fields that SDKs type, and fields for user interfaces. */
export function describeModel({ id, model, suffixEffort }: CatalogEntry) {
  const efforts = suffixEffort === undefined ? model.efforts : [suffixEffort]
  return {
    id,
    object: 'model' as const,
    created: model.createdAt,
    owned_by: model.ownedBy,
    ...(model.description === undefined ? {} : { description: model.description }),
    context_length: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
    input_modalities: model.inputs,
    // Left out if any effort is passed on.
    ...(efforts === undefined ? {} : { supported_reasoning_efforts: efforts }),
  }
}

/**
 * The instructions that Codex gives a model it does not know. Its model list requires a text, and an empty one would leave the
 * agent without instructions. `model_instructions_file` in Codex's settings replaces it.
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

/** How much of a tool's output it keeps, as for its own models. */
const TOOL_OUTPUT_TOKENS = 10_000

/**
 * The list that Codex reads beside `data`, as measured with Codex 0.169: `docs/clients/codex.md`. Codex ignores the whole list if
 * it cannot decode one entry.
 */
export const describeForCodex = (entries: readonly CatalogEntry[]) => entries.map(describeEntry)

function describeEntry({ id, model, suffixEffort }: CatalogEntry, index: number) {
  const efforts = suffixEffort === undefined ? (model.efforts ?? []) : [suffixEffort]
  const levels = efforts.filter(isSentAsNamed).map((effort) => ({ effort, description: `${effort} effort` }))
  // A suffix fixes the effort: another default, such as that of a Codex model with a similar name, would be a conflict.
  const fixed = suffixEffort !== undefined && isSentAsNamed(suffixEffort) ? suffixEffort : undefined
  return {
    slug: id,
    display_name: id,
    ...(model.description === undefined ? {} : { description: model.description }),
    supported_reasoning_levels: levels,
    // The effort that it sends by default.
    ...(fixed === undefined ? {} : { default_reasoning_level: fixed }),
    // Its picker sends `none` to a model without levels, which refuses it. In the settings or with `-m`, Codex sends no effort.
    visibility: levels.length > 0 ? 'list' : 'hide',
    supported_in_api: true,
    // Lower is higher in its picker.
    priority: index,
    base_instructions: CODEX_INSTRUCTIONS,
    // It compacts at 90 percent.
    context_window: model.contextTokens,
    input_modalities: model.inputs.filter((input) => input === 'text' || input === 'image'),
    shell_type: 'unified_exec',
    apply_patch_tool_type: 'freeform',
    support_verbosity: false,
    truncation_policy: { mode: 'tokens', limit: TOOL_OUTPUT_TOKENS },
    experimental_supported_tools: [],
  }
}

/** Codex sends any effort as it is, except `ultra`, which it sends as `max`. */
export const isSentAsNamed = (effort: Effort): boolean => effort !== 'ultra'
