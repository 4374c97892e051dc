import { Button } from '../../../ui/Button.tsx'
import { Field } from '../../../ui/Field.tsx'
import { TextArea } from '../../../ui/TextInput.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { EXAMPLE_TOOLS, readTools, type ToolsOutcome } from './read-tools.ts'

/** Functions for the model, as JSON that is read while it is typed. */
export function ToolsField({ tools, onChange }: { tools: string; onChange: (tools: string) => void }) {
  const { playground } = useMessages()
  const formats = useFormats()
  const fault = useFault()
  const outcome = readTools(tools)
  const count = outcome.kind === 'tools' ? outcome.tools.length : 0
  return (
    <div className="grid gap-1">
      <Field
        label={playground.tools}
        optional
        hint={count > 0 ? formats.plural(count, playground.toolsCount) : playground.toolsHint}
        error={fault(outcome)}
      >
        {(control) => (
          <TextArea
            {...control}
            rows={tools === '' ? 2 : 8}
            spellCheck={false}
            className="font-mono text-xs"
            value={tools}
            onChange={(event) => onChange(event.target.value)}
          />
        )}
      </Field>
      {tools.trim() === '' && (
        <div>
          <Button onClick={() => onChange(EXAMPLE_TOOLS)}>{playground.toolsExample}</Button>
        </div>
      )}
    </div>
  )
}

function useFault(): (outcome: ToolsOutcome) => string | undefined {
  const { toolsWrong } = useMessages().playground
  const formats = useFormats()
  return (outcome) => {
    switch (outcome.kind) {
      case 'tools':
        return undefined
      case 'not-json':
        return toolsWrong.notJson(outcome.message)
      case 'not-a-list':
        return toolsWrong.notAList
      case 'same-name':
        return toolsWrong.sameName(outcome.name)
      case 'wrong-tool': {
        const word = { 'no-function': 'noFunction', 'no-name': 'noName', parameters: 'parameters' } as const
        return toolsWrong[word[outcome.why]](formats.count(outcome.number))
      }
    }
  }
}
