import { type PlaySettings, readMaxTokens, readTemperature, type TurnTerms } from './play-settings.ts'
import { readTools } from './read-tools.ts'

/** The settings as a request can be made of them; undefined while something in them is wrong. */
export function turnTerms(settings: PlaySettings): TurnTerms | undefined {
  const tools = readTools(settings.tools)
  const maxTokens = readMaxTokens(settings.maxTokens)
  const temperature = readTemperature(settings.temperature)
  if (tools.kind !== 'tools' || maxTokens === null || temperature === null || settings.model === '') return undefined
  return {
    model: settings.model,
    effort: settings.effort.trim() || undefined,
    system: settings.system.trim() === '' ? undefined : settings.system,
    tools: tools.tools,
    maxTokens,
    temperature,
  }
}
