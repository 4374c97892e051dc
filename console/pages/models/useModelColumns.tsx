import { Link } from '@tanstack/react-router'
import { MessagesSquare } from 'lucide-react'
import { Badge } from '../../ui/Badge.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import type { Column } from '../../ui/DataTable.tsx'
import { Hint } from '../../ui/Hint.tsx'
import { Tokens } from '../../ui/Tokens.tsx'
import { useFormats, useWords } from '../../words/WordsProvider.tsx'
import type { ModelItem } from './find-models.ts'
import { ModelName } from './ModelName.tsx'
import { ModelPrice } from './ModelPrice.tsx'

export function useModelColumns(): Column<ModelItem>[] {
  const { models } = useWords()
  const formats = useFormats()
  const { columns: words } = models
  const inputs: Readonly<Record<string, string>> = models.inputs
  return [
    { id: 'model', header: words.model, narrow: 'title', cell: (model) => <ModelName model={model} /> },
    { id: 'state', header: words.state, narrow: 'corner', cell: (model) => <ModelState model={model} /> },
    {
      id: 'context',
      header: words.context,
      align: 'end',
      cell: ({ context_tokens }) => <Tokens count={context_tokens} />,
    },
    {
      id: 'output',
      header: words.output,
      align: 'end',
      cell: ({ max_output_tokens }) => <Tokens count={max_output_tokens} />,
    },
    {
      id: 'inputs',
      header: words.inputs,
      cell: (model) => formats.list(model.inputs.map((input) => inputs[input] ?? input)),
    },
    {
      id: 'kinds',
      header: words.kinds,
      cell: ({ kinds }) => formats.list(kinds.map((kind) => models[kind])),
    },
    { id: 'price', header: words.price, align: 'end', cell: (model) => <ModelPrice model={model} /> },
    {
      id: 'open',
      header: words.actions,
      quiet: true,
      align: 'end',
      narrow: 'corner',
      cell: ({ id }) => (
        <Hint text={models.open}>
          <Link to="/playground" search={{ model: id }} aria-label={models.open} className={buttonClass('quiet')}>
            <MessagesSquare aria-hidden="true" />
          </Link>
        </Hint>
      ),
    },
  ]
}

function ModelState({ model: { available, price } }: { model: ModelItem }) {
  const { models } = useWords()
  if (price === null) {
    return (
      <span title={models.unpricedText}>
        <Badge tone="held">{models.unpriced}</Badge>
      </span>
    )
  }
  return available ? <Badge tone="good">{models.available}</Badge> : <Badge tone="bad">{models.unavailable}</Badge>
}
