/** One of a few, and what it is called: for `Segmented`, `Select` and `MenuChoice`. */
export interface Choice<Value extends string> {
  readonly value: Value
  readonly label: string
}

export const choicesOf = <const Value extends string>(
  values: readonly Value[],
  names: Readonly<Record<NoInfer<Value>, string>>,
): Choice<Value>[] => values.map((value) => ({ value, label: names[value] }))
