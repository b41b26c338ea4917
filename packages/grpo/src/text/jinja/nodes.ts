/** The library's syntax tree as far as it is used; its classes are not exported. */
export type Node =
  | { type: 'Program'; body: Node[] }
  | { type: 'Comment' | 'StringLiteral' | 'Identifier'; value: string }
  | { type: 'IntegerLiteral' | 'FloatLiteral'; value: number }
  | { type: 'ArrayLiteral' | 'TupleLiteral'; value: Node[] }
  | { type: 'ObjectLiteral'; value: Map<Node, Node> }
  | { type: 'Break' | 'Continue' }
  | If
  | For
  | SetNode
  | Macro
  | CallStatement
  | { type: 'FilterStatement'; filter: Identifier | Call; body: Node[] }
  | Member
  | Call
  | { type: 'BinaryExpression'; operator: { value: string }; left: Node; right: Node }
  | { type: 'UnaryExpression'; operator: { value: string }; argument: Node }
  | { type: 'FilterExpression'; operand: Node; filter: Identifier | Call }
  | { type: 'TestExpression'; operand: Node; negate: boolean; test: Identifier }
  | Select
  | { type: 'Ternary'; condition: Node; trueExpr: Node; falseExpr: Node }
  | Slice
  | KeywordArgument
  | { type: 'SpreadExpression' | 'KeywordSpreadExpression'; argument: Node };

export interface Identifier {
  type: 'Identifier';
  value: string;
}
export interface If {
  type: 'If';
  test: Node;
  body: Node[];
  alternate: Node[];
}
export interface For {
  type: 'For';
  loopvar: Node;
  iterable: Node;
  body: Node[];
  defaultBlock: Node[];
}
export interface SetNode {
  type: 'Set';
  assignee: Node;
  /** null for a block. */
  value: Node | null;
  body: Node[];
}
export interface Macro {
  type: 'Macro';
  name: Identifier;
  args: Node[];
  body: Node[];
}
export interface CallStatement {
  type: 'CallStatement';
  call: Call;
  callerArgs: Node[] | null;
  body: Node[];
}
export interface Call {
  type: 'CallExpression';
  callee: Node;
  args: Node[];
}
export interface Member {
  type: 'MemberExpression';
  object: Node;
  property: Node;
  computed: boolean;
}
/** `lhs if test`: a conditional without else, or a loop's filter. */
export interface Select {
  type: 'SelectExpression';
  lhs: Node;
  test: Node;
}
export interface Slice {
  type: 'SliceExpression';
  start?: Node;
  stop?: Node;
  step?: Node;
}
export interface KeywordArgument {
  type: 'KeywordArgumentExpression';
  key: Identifier;
  value: Node;
}
