import { expect, it } from 'vitest';
import { definitionsIn, fieldDefaults } from './python-source.js';

const SOURCE = `"""A module's own words: def hidden(): pass"""
import torch  # comment


@decorated
def scale(
    x,  # the input
    by=1.0,
):
    """Docstring.

def not_a_function():
    """
    text = "# no comment, and 'quotes'"
    table = f"""
at the margin
"""

    # a comment
    return x * by


class Trainer(Base):
    '''Docstring.'''

    name = "t"

    async def step(self):
        def inner():
            return 1

        if True:
            return inner()

    def last(self): return {
        "a": 1,
    }


after = 3
`;

it('finds functions and methods whole, without comments and docstrings', () => {
  const found = definitionsIn(SOURCE);
  expect([...found.keys()]).toEqual(['scale', 'Trainer', 'Trainer.step', 'Trainer.last']);
  expect(found.get('scale')).toBe(`@decorated
def scale(
    x,
    by=1.0,
):
    text = "# no comment, and 'quotes'"
    table = f"""
at the margin
"""
    return x * by
`);
  expect(found.get('Trainer.step')).toBe(`async def step(self):
    def inner():
        return 1
    if True:
        return inner()
`);
  expect(found.get('Trainer.last')).toBe('def last(self): return {\n    "a": 1,\n}\n');
});

it('reads the defaults of a dataclass', () => {
  const code = `class GRPOConfig(_BaseConfig):
    _names = _BaseConfig._names + ["a"]
    beta: float = field(
        default=0.04,
        metadata={"help": "More, default=1, is slower", "list": [1, 2]},
    )
    weights: list[float] | None = field(metadata={}, default=None)
    log: dict[str, float] = field(default_factory=dict)
    plain: int = 3
`;
  expect(Object.fromEntries(fieldDefaults(code))).toEqual({
    beta: '0.04',
    weights: 'None',
    log: 'dict',
    plain: '3',
  });
});
