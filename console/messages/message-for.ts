/** What the catalogue calls something that the server names; what it does not know yet is shown as the server spells it. */
export const messageFor = (messages: Readonly<Record<string, string>>, name: string, otherwise = name): string =>
  messages[name] ?? otherwise
